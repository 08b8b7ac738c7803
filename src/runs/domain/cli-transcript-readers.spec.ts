import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from './conversation.js';
import { transcriptReader } from './normalise-transcript.js';

const FIXTURES = join(import.meta.dirname, '../../../test/fixtures');
const STARTED = {
  type: 'millwright.turn_started',
  id: 'turn-1',
  timestamp: '2026-11-20T09:40:00.000Z',
  prompt: 'say hi',
};

/** What is read of these lines, as JSON tells it. */
function read(format: string, ...lines: (object | string)[]): Step[] {
  const reader = transcriptReader(format);
  for (const line of lines) reader?.read(typeof line === 'string' ? line : JSON.stringify(line));
  return JSON.parse(JSON.stringify(reader?.steps())) as Step[];
}

const recorded = (file: string): string[] => readFileSync(join(FIXTURES, file), 'utf8').split('\n');

const RECORDED = [
  ['claude_code_cli', 'claude-2.1.328-stream.jsonl'],
  ['codex_cli', 'codex-0.169.0-exec.jsonl'],
  ['gemini_cli', 'gemini-0.61.0-stream.jsonl'],
] as const;

describe.each(RECORDED)('the reader of %s', (format, file) => {
  it('reads a recorded turn: prompt, command, output, answer, end', () => {
    const steps = read(format, STARTED, ...recorded(file));

    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject({
      id: 'turn-1',
      description: 'say hi',
      summary: 'All done: fake-ok',
      started_at: '2026-11-20T09:40:00.000Z',
    });
    const blocks = steps[0]!.messages.flatMap(({ role, content }) =>
      content.map((block) => ({ role, block })),
    );
    expect(blocks.filter(({ block }) => block.type !== 'event' && block.type !== 'text')).toEqual([
      {
        role: 'assistant',
        block: expect.objectContaining({
          type: 'action',
          category: 'command',
          name: 'run_command',
          input: { command: expect.stringContaining('echo fake-ok') },
        }),
      },
      {
        role: 'tool',
        block: expect.objectContaining({
          type: 'action_result',
          category: 'command',
          name: 'run_command',
          state: 'completed',
          output: expect.objectContaining({ output: expect.stringMatching(/^fake-ok\n?$/) }),
        }),
      },
    ]);
    expect(blocks.filter(({ role }) => role === 'user').map(({ block }) => block)).toEqual([
      { type: 'text', text: 'say hi', message_id: 'turn-1' },
    ]);
    expect(blocks.at(-2)).toMatchObject({
      role: 'assistant',
      block: { type: 'text', text: 'All done: fake-ok' },
    });
    expect(blocks.at(-1)?.block).toMatchObject({
      type: 'event',
      name: 'turn_completed',
      data: { success: true, usage: expect.objectContaining({ input_tokens: expect.any(Number) }) },
    });
  });

  it('keeps the turns apart, and the actions of each', () => {
    const second = { ...STARTED, id: 'turn-2', prompt: 'and again' };
    const steps = read(format, STARTED, ...recorded(file), second, ...recorded(file));

    expect(steps.map(({ description }) => description)).toEqual(['say hi', 'and again']);
    for (const step of steps) {
      const ids = step.messages
        .flatMap(({ content }) => content)
        .flatMap((block) =>
          block.type === 'action' ? [block.id] : block.type === 'action_result' ? [block.action_id] : [],
        );
      expect(ids).toHaveLength(2);
      expect(ids[0]).toBe(ids[1]);
    }
  });

  it('has an event for what it does not know, and fails at nothing', () => {
    const lines = ['nonsense', '[1]', 'null', '""', '{}', '{"type":7}', '{"type":"later"}', ''];
    const damaged = recorded(file).flatMap((line) => {
      const whole = line === '' ? {} : (JSON.parse(line) as Record<string, unknown>);
      return Object.keys(whole).map((field) => JSON.stringify({ ...whole, [field]: null }));
    });
    const [step] = read(format, STARTED, ...lines, ...damaged);

    const events = step!.messages.flatMap(({ content }) => content).filter(({ type }) => type === 'event');
    expect(events.slice(0, 7)).toEqual(
      ['not JSON', 'not JSON', 'not JSON', 'not JSON', undefined, 7, 'later'].map((type) => ({
        type: 'event',
        name: 'unknown',
        data: type === undefined ? {} : { type },
      })),
    );
  });

  it('tells of a turn that ended without the agent saying so, and passes over the session', () => {
    const [step] = read(
      format,
      STARTED,
      { type: 'millwright.lines_dropped', timestamp: 't', bytes: 5 },
      { type: 'millwright.turn_aborted', timestamp: '2026-11-20T09:50:00.000Z', message: 'It is gone' },
      { type: 'millwright.session', session_id: 'x', envelope: {} },
    );
    expect(step?.completed_at).toBe('2026-11-20T09:50:00.000Z');
    expect(step?.messages.slice(1).map(({ content }) => content[0])).toEqual([
      { type: 'event', name: 'warning', data: { message: 'Some of what the agent printed was not kept' } },
      { type: 'event', name: 'turn_completed', data: { success: false, error: 'It is gone' } },
    ]);
  });

  it('reads a transcript without the lines of the runner', () => {
    const steps = read(format, ...recorded(file));
    expect(steps).toMatchObject([{ id: 'step-1', summary: 'All done: fake-ok' }]);
  });
});

const blocksOf = ([step]: Step[]) => step!.messages.flatMap(({ content }) => content);

describe('the reader of claude_code_cli', () => {
  const assistant = (id: string, block: object, parent: string | null = null) => ({
    type: 'assistant',
    message: { id, content: [block] },
    parent_tool_use_id: parent,
  });
  const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });
  const result = (id: string, content: unknown, more: object = {}) => ({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: id, content, ...more }] },
  });

  it('puts the blocks of one message together', () => {
    const [step] = read('claude_code_cli', STARTED, ...recorded('claude-2.1.328-stream.jsonl'));
    expect(step?.messages.map(({ role, content }) => [role, content.map(({ type }) => type)])).toEqual([
      ['user', ['text']],
      ['assistant', ['text', 'action']],
      ['tool', ['action_result']],
      ['assistant', ['text']],
      ['system', ['event']],
    ]);
  });

  it.each([
    ['Read', { file_path: '/a' }, { category: 'files', name: 'read_files', input: { paths: ['/a'] } }],
    [
      'Write',
      { file_path: '/a', content: 'x' },
      { category: 'files', name: 'edit_files', input: { paths: ['/a'] } },
    ],
    [
      'NotebookEdit',
      { notebook_path: '/n' },
      { category: 'files', name: 'edit_files', input: { paths: ['/n'] } },
    ],
    [
      'Grep',
      { pattern: 'x', path: '/a' },
      { category: 'search', name: 'grep', input: { pattern: 'x', path: '/a' } },
    ],
    ['WebSearch', { query: 'q' }, { category: 'search', name: 'search_web', input: { query: 'q' } }],
    ['WebFetch', { url: 'u', prompt: 'p' }, { category: 'search', name: 'fetch_url', input: { url: 'u' } }],
    [
      'mcp__git_hub__list_prs',
      { a: 1 },
      { category: 'integration', name: 'git_hub.list_prs', input: { a: 1 } },
    ],
    ['Skill', { skill: 's' }, { category: 'skill', name: 'use_skill', input: { skill: 's' } }],
  ])('knows the tool %s', (name, input, expected) => {
    const [action] = blocksOf(read('claude_code_cli', assistant('m', use('t', name, input))));
    expect(action).toMatchObject(expected);
  });

  it('has what a sub-agent does in a step of its own', () => {
    const [step] = read(
      'claude_code_cli',
      STARTED,
      assistant('m1', use('task', 'Task', { description: 'Look around', prompt: 'Go' })),
      assistant('m2', use('inner', 'Bash', { command: 'ls' }), 'task'),
      { ...result('inner', 'a b'), parent_tool_use_id: 'task' },
      result('task', [{ type: 'text', text: 'Seen' }]),
    );
    expect(step?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(step?.steps).toMatchObject([
      {
        id: 'task',
        description: 'Look around',
        messages: [
          { role: 'assistant', content: [{ type: 'action', id: 'inner' }] },
          { role: 'tool', content: [{ action_id: 'inner', output: { output: 'a b' } }] },
        ],
      },
    ]);
  });

  it('tells failed, denied and unfinished actions apart', () => {
    const blocks = blocksOf(
      read(
        'claude_code_cli',
        assistant('m', use('failed', 'Bash', { command: 'false' })),
        assistant('m', use('denied', 'Bash', { command: 'rm' })),
        assistant('m', use('running', 'Bash', { command: 'sleep' })),
        assistant('m', use('silent', 'Bash', { command: 'rm' })),
        result('failed', 'Exit code 1', { is_error: true }),
        result('denied', 'Not allowed', { is_error: true }),
        {
          type: 'result',
          is_error: false,
          permission_denials: [{ tool_use_id: 'denied' }, { tool_use_id: 'silent' }],
        },
      ),
    );
    expect(blocks.filter(({ type }) => type === 'action_result')).toMatchObject([
      { action_id: 'running', category: 'command', name: 'run_command', state: 'running', output: {} },
      { action_id: 'failed', state: 'failed', output: { output: 'Exit code 1' } },
      { action_id: 'denied', state: 'denied' },
      { action_id: 'silent', state: 'denied' },
    ]);
  });

  it('has a follow-up that came during the turn in it, and the prompt once', () => {
    const replay = (content: string) => ({
      type: 'user',
      isReplay: true,
      message: { role: 'user', content },
    });
    const blocks = blocksOf(
      read(
        'claude_code_cli',
        STARTED,
        replay('say hi'),
        assistant('m', { type: 'text', text: 'hi' }),
        replay('louder'),
      ),
    );
    expect(blocks.map((block) => block.type === 'text' && block.text)).toEqual(['say hi', 'hi', 'louder']);
  });

  it('calls a refused key no success, whatever the subtype says, and a retry a warning', () => {
    const blocks = blocksOf(
      read(
        'claude_code_cli',
        { type: 'system', subtype: 'api_retry', attempt: 1, error: 'overloaded' },
        { type: 'result', subtype: 'success', is_error: true, api_error_status: 401 },
      ),
    );
    expect(blocks).toMatchObject([
      { name: 'warning', data: { message: 'overloaded', attempt: 1 } },
      { name: 'turn_completed', data: { success: false } },
    ]);
  });

  it('shortens a text of megabytes', () => {
    const blocks = blocksOf(
      read('claude_code_cli', assistant('m', use('t', 'Bash', {})), result('t', 'x'.repeat(3_000_000))),
    );
    expect(JSON.stringify(blocks).length).toBeLessThan(101_000);
    expect(JSON.stringify(blocks)).toContain('2900000 characters left out');
  });
});

describe('the reader of codex_cli', () => {
  const item = (type: string, fields: object, event = 'item.completed') => ({
    type: event,
    item: { id: 'item_1', type, ...fields },
  });

  it.each([
    ['failed', { status: 'failed', exit_code: 2 }],
    ['failed', { status: 'completed', exit_code: 1 }],
    ['denied', { status: 'declined' }],
  ])('knows a command that %s: %j', (state, fields) => {
    const blocks = blocksOf(read('codex_cli', item('command_execution', { command: 'x', ...fields })));
    expect(blocks).toMatchObject([{ type: 'action' }, { type: 'action_result', state }]);
  });

  it('knows its other items', () => {
    const blocks = blocksOf(
      read(
        'codex_cli',
        item('file_change', { changes: [{ path: 'a', kind: 'add' }], status: 'completed' }),
        item('reasoning', { text: 'Hm' }),
        item('todo_list', { items: [{ text: 'x', completed: false }] }),
        item('error', { message: 'Careful' }),
        item('later', {}),
        { type: 'error', message: 'Reconnecting… 2/5' },
        { type: 'turn.failed', error: { message: 'No more' } },
      ),
    );
    expect(blocks).toMatchObject([
      { type: 'action', category: 'files', name: 'edit_files', input: { paths: ['a'] } },
      { type: 'action_result', state: 'completed', output: { changes: [{ path: 'a', kind: 'add' }] } },
      { name: 'reasoning', data: { summary: 'Hm' } },
      { name: 'plan_updated', data: { items: [{ text: 'x', completed: false }] } },
      { name: 'warning', data: { message: 'Careful' } },
      { name: 'unknown', data: { type: 'item/later' } },
      { name: 'warning', data: { message: 'Reconnecting… 2/5' } },
      { name: 'turn_completed', data: { success: false, error: 'No more' } },
    ]);
  });

  it('knows a command that is running, in a turn of its own', () => {
    const begun = item('command_execution', { command: 'x', status: 'in_progress' }, 'item.started');
    const ended = item('command_execution', { command: 'x', exit_code: 0 });
    const steps = read('codex_cli', STARTED, begun, ended, { ...STARTED, id: 'turn-2' }, begun);
    const states = steps.map((step) =>
      blocksOf([step]).flatMap((block) => (block.type === 'action_result' ? [block.state] : [])),
    );
    expect(states).toEqual([['completed'], ['running']]);
  });

  it('knows what tools of servers answered', () => {
    const call = { server: 'git', tool: 'log', arguments: { n: 1 } };
    const blocks = blocksOf(
      read(
        'codex_cli',
        item('mcp_tool_call', { ...call, status: 'in_progress' }, 'item.started'),
        item('mcp_tool_call', {
          ...call,
          status: 'completed',
          result: { content: [{ type: 'text', text: 'one' }] },
        }),
      ),
    );
    expect(blocks).toMatchObject([
      { type: 'action', category: 'integration', name: 'git.log', input: { n: 1 } },
      { type: 'action_result', state: 'completed', output: { output: 'one' } },
    ]);
  });
});

describe('the reader of gemini_cli', () => {
  const said = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true });

  it('joins the pieces of an answer', () => {
    const blocks = blocksOf(read('gemini_cli', STARTED, said('All '), said('done')));
    expect(blocks.map((block) => block.type === 'text' && block.text)).toEqual(['say hi', 'All done']);
  });

  it('gives each answer an id', () => {
    const tool = { type: 'tool_use', tool_id: 't', tool_name: 'glob', parameters: {} };
    const blocks = blocksOf(read('gemini_cli', STARTED, said('One '), said('more'), tool, said('Two')));
    expect(blocks.filter(({ type }) => type === 'text').map((block) => block.message_id)).toEqual([
      'turn-1',
      'turn-1:message_1',
      'turn-1:message_3',
    ]);
  });

  it.each([
    ['mcp__git_hub__list_prs', 'git_hub.list_prs'],
    ['mcp_github_list_prs', 'github.list_prs'],
    ['later', 'later'],
  ])('knows the tool %s', (tool, name) => {
    const line = { type: 'tool_use', tool_id: 't', tool_name: tool, parameters: { a: 1 } };
    expect(blocksOf(read('gemini_cli', line))[0]).toMatchObject({
      type: 'action',
      category: 'integration',
      name,
      input: { a: 1 },
    });
  });

  it('tells that an action is running', () => {
    const line = { type: 'tool_use', tool_id: 't', tool_name: 'glob', parameters: {}, timestamp: 'now' };
    const [step] = read('gemini_cli', line);
    expect(step?.messages[1]).toEqual({
      role: 'tool',
      timestamp: 'now',
      content: [
        {
          type: 'action_result',
          action_id: 't',
          category: 'search',
          name: 'grep',
          state: 'running',
          output: {},
        },
      ],
    });
  });

  it('knows failures', () => {
    const blocks = blocksOf(
      read(
        'gemini_cli',
        { type: 'tool_use', tool_id: 't', tool_name: 'write_file', parameters: { file_path: 'a' } },
        { type: 'tool_result', tool_id: 't', status: 'error', error: { type: 'X', message: 'No room' } },
        { type: 'error', severity: 'warning', message: 'Loop' },
        { type: 'result', status: 'error', error: { type: 'Y', message: 'Turn limit' }, stats: {} },
      ),
    );
    expect(blocks).toMatchObject([
      { type: 'action', category: 'files', name: 'edit_files', input: { paths: ['a'] } },
      { type: 'action_result', state: 'failed', output: { output: 'No room' } },
      { name: 'warning', data: { message: 'Loop' } },
      { name: 'turn_completed', data: { success: false, error: 'Turn limit' } },
    ]);
  });
});
