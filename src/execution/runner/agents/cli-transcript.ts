import { randomUUID } from 'node:crypto';
import { type RunnerLine, SESSION_LINE_START, type SessionLine } from '../../protocol/cli-transcript.js';
import { Transcript } from '../transcript.js';
import { numberOf, objectOf, parseObject, textOf } from './json-line.js';

const MIB = 1024 * 1024;
/** The server takes 100 MiB; the session comes on top. */
const TRANSCRIPT_LIMIT_BYTES = 48 * MIB;

/** Reads the session as it is now; undefined while there is none. */
export type SessionSource = () => Promise<SessionLine | undefined>;

/** What an agent CLI prints, untouched but for secrets, and the runner's own lines. */
export class CliTranscript extends Transcript {
  /** The session that the conversation has had so far. */
  readonly earlierSession: SessionLine | undefined;
  /** Set for a turn: every save takes the session along as it stands. */
  session: SessionSource;
  private droppedBytes = 0;

  /** @param mask removes the values of secrets from a text */
  constructor(
    earlier: Buffer | undefined,
    private readonly mask: (text: string) => string,
  ) {
    const { lines, session } = splitOffSession(earlier ?? Buffer.alloc(0));
    super(lines);
    this.earlierSession = session;
    this.session = () => Promise.resolve(session);
  }

  override async bytes(): Promise<Buffer> {
    const lines = await super.bytes();
    const session = await this.session();
    if (session === undefined) return lines;
    return Buffer.concat([lines, Buffer.from(`${this.mask(JSON.stringify(session))}\n`)]);
  }

  turnStarted(prompt: string): void {
    const text = this.mask(prompt);
    this.write({ type: 'millwright.turn_started', id: randomUUID(), timestamp: now(), prompt: text });
  }

  turnAborted(message: string): void {
    this.write({ type: 'millwright.turn_aborted', timestamp: now(), message: this.mask(message) });
  }

  line(line: Buffer): void {
    if (this.sizeBytes + line.length > TRANSCRIPT_LIMIT_BYTES) return this.dropped(line.length);
    const text = line.toString('utf8');
    const masked = this.mask(text);
    this.add(masked === text ? line : Buffer.from(masked));
    this.add(Buffer.from('\n'));
  }

  /** Lines that are not kept, told once the first time, so that a flood of them cannot fill the transcript. */
  dropped(bytes: number): void {
    if (this.droppedBytes === 0) this.write({ type: 'millwright.lines_dropped', timestamp: now(), bytes });
    this.droppedBytes += bytes;
  }

  private write(line: RunnerLine): void {
    this.append(line);
  }
}

function splitOffSession(earlier: Buffer): { lines: Buffer; session: SessionLine | undefined } {
  const start = earlier.lastIndexOf(`\n${SESSION_LINE_START}`) + 1;
  if (
    start === 0 &&
    !earlier.subarray(0, SESSION_LINE_START.length).equals(Buffer.from(SESSION_LINE_START))
  ) {
    return { lines: earlier, session: undefined };
  }
  return {
    lines: earlier.subarray(0, start),
    session: parseSession(earlier.subarray(start).toString('utf8')),
  };
}

function parseSession(line: string): SessionLine | undefined {
  const parsed = parseObject(line);
  const sessionId = textOf(parsed?.session_id);
  if (sessionId === undefined || !/^[A-Za-z0-9-]{8,64}$/.test(sessionId)) return undefined;
  const counters = objectOf(parsed?.counters);
  return {
    type: 'millwright.session',
    session_id: sessionId,
    counters: {
      total_tokens: numberOf(counters.total_tokens),
      ...(counters.cost_usd !== undefined && { cost_usd: numberOf(counters.cost_usd) }),
    },
    envelope: objectOf(parsed?.envelope),
  };
}

const now = (): string => new Date().toISOString();
