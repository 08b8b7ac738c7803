import { describe, expect, it } from '@jest/globals';
import { ScriptTranscript } from './script-transcript.js';

function sources(): ConstructorParameters<typeof ScriptTranscript>[2] {
  let ids = 0;
  return { now: () => new Date('2026-11-01T12:00:00Z'), newId: () => `id-${(ids += 1)}` };
}

const asItIs = (text: string): string => text;

describe('ScriptTranscript', () => {
  it('writes one JSON line for each thing that happens', async () => {
    const transcript = new ScriptTranscript(undefined, asItIs, sources());
    transcript.userMessage('line 1\nline 2');
    const id = transcript.commandStarted('true\n');
    transcript.commandFinished(id, 0, { text: 'out\n', truncatedBytes: 5 });
    transcript.assistantMessage('done');
    transcript.turnCompleted(true, 12.6);

    const timestamp = '2026-11-01T12:00:00.000Z';
    expect((await transcript.bytes()).toString().split('\n')).toEqual([
      JSON.stringify({ type: 'user_message', id: 'id-1', timestamp, text: 'line 1\nline 2' }),
      JSON.stringify({ type: 'command_started', id: 'id-2', timestamp, command: 'true\n' }),
      JSON.stringify({
        type: 'command_finished',
        id: 'id-2',
        timestamp,
        output: 'out\n',
        truncated_bytes: 5,
        exit_code: 0,
      }),
      JSON.stringify({ type: 'assistant_message', id: 'id-3', timestamp, text: 'done' }),
      JSON.stringify({ type: 'turn_completed', timestamp, success: true, duration_ms: 13 }),
      '',
    ]);
    expect(transcript.sizeBytes).toBe((await transcript.bytes()).length);
  });

  it.each([
    ['ended', 'earlier\n'],
    ['not ended', 'earlier'],
  ])('goes on after what was there, its last line %s', async (_, earlier) => {
    const transcript = new ScriptTranscript(Buffer.from(earlier), asItIs, sources());
    transcript.userMessage('later');
    expect((await transcript.bytes()).toString()).toMatch(/^earlier\n\{"type":"user_message".*\}\n$/);
  });

  it('is empty after nothing', async () => {
    expect(await new ScriptTranscript(Buffer.alloc(0), asItIs).bytes()).toHaveLength(0);
  });
});
