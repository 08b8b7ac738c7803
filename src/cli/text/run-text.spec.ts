import { describe, expect, it } from '@jest/globals';
import type { Block, Conversation } from '../answers.js';
import { conversationText, runListText, runText, timelineText } from './run-text.js';

const RUN = {
  run_id: 'r1',
  title: 'Say hello',
  state: 'FAILED',
  created_at: '2026-11-21T09:30:00.000Z',
  updated_at: '2026-11-21T09:30:02.000Z',
};

const said = (role: string, ...content: Block[]): Conversation => ({
  steps: [{ messages: [{ role, content }], steps: [] }],
});

describe('a run', () => {
  it('is shown with what there is to know', () => {
    const text = runText({
      ...RUN,
      started_at: null,
      status_message: { message: 'It broke', error_code: 'agent_process_failed' },
      creator: { display_name: 'Ada', email: 'ada@example.com' },
      agent_config: { model_id: 'script' },
      metadata: { ticket: 'OPS-1', empty: '' },
    });
    expect(text.split('\n')).toEqual([
      'run       r1',
      'title     Say hello',
      'state     FAILED',
      'message   It broke',
      'error     agent_process_failed',
      'created   2026-11-21T09:30:00.000Z',
      'updated   2026-11-21T09:30:02.000Z',
      'creator   Ada <ada@example.com>',
      'model     script',
      'metadata  ticket=OPS-1 empty=',
    ]);
  });

  it('is a line of a list, its title cut', () => {
    const [, line] = runListText({
      runs: [{ ...RUN, title: 'x'.repeat(61) }],
      page_info: { has_next_page: false },
    }).split('\n');
    expect(line).toBe(`r1   FAILED  2026-11-21T09:30:02.000Z  ${'x'.repeat(59)}…`);
  });
});

describe('a timeline', () => {
  it('has a line for each event', () => {
    const text = timelineText({
      events: [
        { event_type: 'oz_run_created', occurred_at: 't1' },
        { event_type: 'oz_run_claimed', occurred_at: 't2', execution_id: 42, payload: { worker_id: 'w' } },
      ],
    });
    expect(text.split('\n')).toEqual([
      'TIME  EXECUTION  EVENT           DETAILS',
      't1    -          oz_run_created  -',
      't2    42         oz_run_claimed  {"worker_id":"w"}',
    ]);
  });
});

describe('a conversation', () => {
  it('shows prompts, commands and their output', () => {
    const text = conversationText({
      steps: [
        {
          messages: [
            { role: 'user', content: [{ type: 'text', text: 'Look:\n\nnow' }] },
            {
              role: 'assistant',
              content: [{ type: 'action', name: 'run_command', input: { command: 'cd /tmp\nls\n' } }],
            },
            {
              role: 'tool',
              content: [
                {
                  type: 'action_result',
                  name: 'run_command',
                  state: 'failed',
                  output: { output: 'a\n\n  b\n', exit_code: 2, truncated_bytes: 7 },
                },
              ],
            },
            { role: 'system', content: [{ type: 'event', name: 'turn_completed', data: {} }] },
          ],
          steps: [
            { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'Done' }] }], steps: [] },
          ],
        },
      ],
    });
    expect(text.split('\n')).toEqual([
      '> Look:',
      '>',
      '> now',
      '$ cd /tmp',
      '  ls',
      'a',
      '',
      '  b',
      '[failed, exit code 2, 7 bytes left out]',
      '  Done',
    ]);
  });

  it('shows other actions as JSON', () => {
    expect(
      conversationText(
        said(
          'assistant',
          { type: 'action', name: 'read_file', input: { path: 'a' } },
          { type: 'action_result', name: 'read_file', state: 'completed', output: { lines: 3 } },
        ),
      ),
    ).toBe('* read_file {"path":"a"}\n{"lines":3}');
  });

  it('leaves out the kinds of block that it does not know', () => {
    expect(conversationText(said('assistant', { type: 'hologram' } as unknown as Block))).toBe('');
  });

  it('lets no output command the terminal', () => {
    const output = { output: 'safe\u001b[2J\u001b]52;c;ZXZpbA==\u0007', exit_code: 0 };
    expect(
      conversationText(said('tool', { type: 'action_result', name: 'x', state: 'completed', output })),
    ).toBe('safe');
  });
});
