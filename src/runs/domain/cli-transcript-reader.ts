import type { ActionCategory, Block, Message, Step } from './conversation.js';
import type { TranscriptReader } from './normalise-transcript.js';
import { withRunningActions } from './running-actions.js';

export type Line = Record<string, unknown>;

/** What an agent did, in the words of the normal form. */
export interface Action {
  category: ActionCategory;
  name: string;
  input: Record<string, unknown>;
}

export type ActionState = 'running' | 'completed' | 'failed' | 'denied';

/** The runner's line with the agent's session: it is no part of the conversation, and can be too long to be parsed for nothing. */
const SESSION_LINE_START = '{"type":"millwright.session"';
/** Of a text in the normal form; the transcript has the whole. */
const MAX_TEXT_CHARACTERS = 100_000;

/**
 * What the transcripts of all agent CLIs have in common: the runner's own lines, of which each turn's first makes a step, and lines that
 * nobody can read, which become events. What the lines of a CLI mean is for its own reader to say.
 */
export abstract class CliTranscriptReader implements TranscriptReader {
  private readonly found: Step[] = [];
  private readonly actions = new Map<string, Action>();

  read(text: string): void {
    if (text.trim() === '' || text.startsWith(SESSION_LINE_START)) return;
    const line = parseObject(text);
    if (line === undefined) return this.event('unknown', { type: 'not JSON' });
    switch (line.type) {
      case 'millwright.turn_started':
        return this.beginTurn(line);
      case 'millwright.turn_aborted':
        return this.endTurn({ success: false, error: textOf(line.message) }, textOf(line.timestamp));
      case 'millwright.lines_dropped':
        return this.event('warning', { message: 'Some of what the agent printed was not kept' });
      default:
        return this.readLine(line);
    }
  }

  steps(): Step[] {
    return withRunningActions(this.found);
  }

  /** A line of the CLI. */
  protected abstract readLine(line: Line): void;

  /** The turn that is being read. */
  protected get current(): Step {
    let step = this.found.at(-1);
    if (step === undefined) {
      step = { id: 'step-1', messages: [], steps: [] };
      this.found.push(step);
    }
    return step;
  }

  /** Whether this is the prompt that the turn began with, told again by the agent. */
  protected isEcho(text: string): boolean {
    const { messages, description } = this.current;
    return messages.length === 1 && text.trim() === description?.trim();
  }

  protected add(role: Message['role'], block: Block, timestamp?: string, step = this.current): void {
    step.messages.push({ role, content: [block], timestamp });
  }

  protected say(role: 'user' | 'assistant', text: string, messageId?: string, step = this.current): void {
    this.add(role, { type: 'text', text: shortened(text), message_id: messageId }, undefined, step);
  }

  protected event(name: string, data: Record<string, unknown>, step = this.current): void {
    this.add('system', { type: 'event', name, data }, undefined, step);
  }

  /** Remembers the action, so that its result can be told with it. */
  protected toAction(id: string, action: Action, messageId?: string): Block {
    this.actions.set(id, action);
    return { type: 'action', id, ...action, message_id: messageId };
  }

  protected hasBegun(id: string): boolean {
    return this.actions.has(id);
  }

  /** The result of an action; that of an unknown one tells nothing and is left out. */
  protected result(
    id: string,
    state: ActionState,
    output: Record<string, unknown>,
    step = this.current,
  ): void {
    const action = this.actions.get(id);
    if (action === undefined) return;
    const { category, name } = action;
    this.add(
      'tool',
      { type: 'action_result', action_id: id, category, name, state, output },
      undefined,
      step,
    );
  }

  /** By the agent's own word, or the runner's where it has none. */
  protected endTurn(data: { success: boolean } & Record<string, unknown>, timestamp?: string): void {
    this.current.completed_at = timestamp;
    this.event('turn_completed', data);
  }

  private beginTurn(line: Line): void {
    const prompt = textOf(line.prompt) ?? '';
    this.found.push({
      id: textOf(line.id) ?? `step-${String(this.found.length + 1)}`,
      description: shortened(prompt),
      started_at: textOf(line.timestamp),
      messages: [],
      steps: [],
    });
    this.say('user', prompt, textOf(line.id));
  }
}

/** A text as it stands in the normal form. */
export function shortened(text: string): string {
  if (text.length <= MAX_TEXT_CHARACTERS) return text;
  return `${text.slice(0, MAX_TEXT_CHARACTERS)}\n[… ${String(text.length - MAX_TEXT_CHARACTERS)} characters left out]`;
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The value where it is an object, else an empty one. */
export const objectOf = (value: unknown): Line => (isObject(value) ? value : {});

export const objectsOf = (value: unknown): Line[] =>
  Array.isArray(value) ? (value as unknown[]).filter((each) => isObject(each)) : [];

/** The first of the fields that is a text. */
export function firstText(from: Line, ...fields: string[]): string | undefined {
  return fields.map((field) => textOf(from[field])).find((value) => value !== undefined);
}

function parseObject(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Line {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
