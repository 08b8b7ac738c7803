import { describe, expect, it } from '@jest/globals';
import { transcriptReader } from './normalise-transcript.js';

const read = (...lines: unknown[]) => {
  const reader = transcriptReader('millwright_script');
  if (reader === undefined) throw new Error('no reader');
  for (const line of lines) reader.read(typeof line === 'string' ? line : JSON.stringify(line));
  return reader.steps();
};

const at = (second: number): string => `2026-01-01T00:00:0${String(second)}Z`;

describe('the transcript of the script harness', () => {
  it('becomes a step with an action and its result', () => {
    const steps = read(
      { type: 'user_message', id: 'm1', timestamp: at(0), text: 'run `date`' },
      { type: 'command_started', id: 'c1', timestamp: at(1), command: 'date' },
      {
        type: 'command_finished',
        id: 'c1',
        timestamp: at(2),
        output: 'now\n',
        truncated_bytes: 0,
        exit_code: 0,
      },
      { type: 'assistant_message', id: 'm2', timestamp: at(3), text: '1 command succeeded' },
      { type: 'turn_completed', timestamp: at(3), success: true, duration_ms: 3000 },
    );
    expect(steps).toEqual([
      {
        id: 'm1',
        description: 'run `date`',
        summary: '1 command succeeded',
        started_at: at(0),
        completed_at: at(3),
        steps: [],
        messages: [
          {
            role: 'user',
            timestamp: at(0),
            content: [{ type: 'text', text: 'run `date`', message_id: 'm1' }],
          },
          {
            role: 'assistant',
            timestamp: at(1),
            content: [
              {
                type: 'action',
                id: 'c1',
                category: 'command',
                name: 'run_command',
                input: { command: 'date' },
              },
            ],
          },
          {
            role: 'tool',
            timestamp: at(2),
            content: [
              {
                type: 'action_result',
                action_id: 'c1',
                category: 'command',
                name: 'run_command',
                state: 'completed',
                output: { output: 'now\n', exit_code: 0 },
              },
            ],
          },
          {
            role: 'assistant',
            timestamp: at(3),
            content: [{ type: 'text', text: '1 command succeeded', message_id: 'm2' }],
          },
          {
            role: 'system',
            timestamp: at(3),
            content: [{ type: 'event', name: 'turn_completed', data: { success: true, duration_ms: 3000 } }],
          },
        ],
      },
    ]);
  });

  it('marks a command that failed, and tells how much of its output is missing', () => {
    const [step] = read({
      type: 'command_finished',
      id: 'c1',
      timestamp: at(1),
      output: 'x',
      truncated_bytes: 9,
      exit_code: 137,
    });
    expect(step?.messages[0]?.content[0]).toMatchObject({
      state: 'failed',
      output: { exit_code: 137, truncated_bytes: 9 },
    });
  });

  it('tells that a command is running', () => {
    const [step] = read({ type: 'command_started', id: 'c1', timestamp: at(1), command: 'date' });
    expect(step?.messages[1]).toMatchObject({
      role: 'tool',
      content: [{ type: 'action_result', action_id: 'c1', state: 'running', output: {} }],
    });
  });

  it('survives anything that is not a line of ours', () => {
    const steps = read('', 'noise', '[1]', 'null', { type: 'from the future' }, '{"type":');
    const names = steps.flatMap((step) => step.messages).flatMap((message) => message.content);
    expect(names).toHaveLength(5);
    expect(names.every((block) => block.type === 'event' && block.name === 'unknown')).toBe(true);
  });

  it('has no reader for a format that nobody can normalise', () => {
    expect(transcriptReader('tar')).toBeUndefined();
    expect(transcriptReader('toString')).toBeUndefined();
  });
});
