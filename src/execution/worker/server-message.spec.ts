import { describe, expect, it } from '@jest/globals';
import { parseServerMessage } from './server-message.js';

const ORDER = { task_id: '0190a-b', execution_id: '0190c-d', env_vars: { WARP_API_KEY: 'wk-1' } };

function assignment(changes: object): string {
  return JSON.stringify({ type: 'task_assignment', data: { ...ORDER, task: { id: 'x' }, ...changes } });
}

describe('parseServerMessage', () => {
  it('reads an assignment', () => {
    expect(parseServerMessage(assignment({}))).toEqual({ kind: 'assignment', order: ORDER });
    expect(parseServerMessage(assignment({ env_vars: undefined }))).toMatchObject({
      order: { env_vars: {} },
    });
  });

  it.each(['', '.', '..', '../x', 'a/b', 'a\\b', '.hidden', 'a b', 'a\0', 'x'.repeat(101), null, 7])(
    'refuses %j as an id',
    (id) => {
      expect(parseServerMessage(assignment({ task_id: id }))).toMatchObject({ kind: 'unreadable' });
      expect(parseServerMessage(assignment({ execution_id: id }))).toMatchObject({ kind: 'unreadable' });
    },
  );

  it.each([{ 'A=B': 'x' }, { A: 'x\0y' }, { A: 1 }, ['x']])('refuses %j as an environment', (env_vars) => {
    expect(parseServerMessage(assignment({ env_vars }))).toMatchObject({ kind: 'unreadable' });
  });

  it('names the field that is wrong, and no value', () => {
    expect(parseServerMessage(assignment({ env_vars: { KEY: 'top\0secret' } }))).toEqual({
      kind: 'unreadable',
      problem: 'env_vars.KEY: invalid_format',
    });
  });

  it('reads a cancellation with and without its execution', () => {
    const data = { task_id: 't', execution_id: 'e' };
    expect(parseServerMessage(JSON.stringify({ type: 'task_cancellation', data }))).toEqual({
      kind: 'cancellation',
      cancellation: data,
    });
    expect(parseServerMessage('{"type":"task_cancellation","data":{"task_id":"t"}}')).toEqual({
      kind: 'cancellation',
      cancellation: { task_id: 't' },
    });
  });

  it('knows that there are types that it does not know', () => {
    expect(parseServerMessage('{"type":"later","data":{}}')).toEqual({ kind: 'unknown', type: 'later' });
  });

  it.each(['', 'x', 'null', '[]', '{}', '{"type":1}', '{"type":"task_cancellation"}'])(
    'cannot read %j',
    (text) => {
      expect(parseServerMessage(text)).toMatchObject({ kind: 'unreadable' });
    },
  );
});
