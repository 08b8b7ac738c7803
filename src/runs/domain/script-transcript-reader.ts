import type { Block, Message, Step } from './conversation.js';
import type { TranscriptReader } from './normalise-transcript.js';
import { withRunningActions } from './running-actions.js';

type Line = Record<string, unknown>;

/** Reads the transcripts of the script harness: a step for each prompt, in it an action and its result for each command. */
export class ScriptTranscriptReader implements TranscriptReader {
  private readonly found: Step[] = [];

  read(line: string): void {
    if (line.trim() === '') return;
    const parsed = parseObject(line);
    if (parsed === undefined) {
      this.add('system', undefined, { type: 'event', name: 'unknown', data: { type: 'not JSON' } });
      return;
    }
    const timestamp = text(parsed.timestamp);
    switch (parsed.type) {
      case 'user_message':
        this.found.push({
          id: text(parsed.id) ?? `step-${String(this.found.length + 1)}`,
          description: text(parsed.text),
          started_at: timestamp,
          messages: [],
          steps: [],
        });
        this.add('user', timestamp, {
          type: 'text',
          text: text(parsed.text) ?? '',
          message_id: text(parsed.id),
        });
        break;
      case 'command_started':
        this.add('assistant', timestamp, {
          type: 'action',
          id: text(parsed.id) ?? '',
          category: 'command',
          name: 'run_command',
          input: { command: text(parsed.command) ?? '' },
        });
        break;
      case 'command_finished':
        this.add('tool', timestamp, {
          type: 'action_result',
          action_id: text(parsed.id) ?? '',
          category: 'command',
          name: 'run_command',
          state: parsed.exit_code === 0 ? 'completed' : 'failed',
          output: {
            output: text(parsed.output) ?? '',
            exit_code: parsed.exit_code,
            ...(parsed.truncated_bytes === 0 ? {} : { truncated_bytes: parsed.truncated_bytes }),
          },
        });
        break;
      case 'assistant_message':
        this.add('assistant', timestamp, {
          type: 'text',
          text: text(parsed.text) ?? '',
          message_id: text(parsed.id),
        });
        this.current().summary = text(parsed.text);
        break;
      case 'turn_completed':
        this.current().completed_at = timestamp;
        this.add('system', timestamp, {
          type: 'event',
          name: 'turn_completed',
          data: { success: parsed.success, duration_ms: parsed.duration_ms },
        });
        break;
      default:
        this.add('system', timestamp, { type: 'event', name: 'unknown', data: { type: parsed.type } });
    }
  }

  steps(): Step[] {
    return withRunningActions(this.found);
  }

  private add(role: Message['role'], timestamp: string | undefined, block: Block): void {
    this.current().messages.push({ role, content: [block], timestamp });
  }

  private current(): Step {
    let step = this.found.at(-1);
    if (step === undefined) {
      step = { id: 'step-1', messages: [], steps: [] };
      this.found.push(step);
    }
    return step;
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function parseObject(line: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Line) : undefined;
  } catch {
    return undefined;
  }
}
