import { Injectable } from '@nestjs/common';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { Caller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import { type DownloadOptions, ObjectStorage } from '../../kernel/storage/object-storage.js';
import { type Conversation, type Step, TRANSCRIPT_FORMATS_BY_HARNESS } from '../domain/conversation.js';
import { transcriptReader } from '../domain/normalise-transcript.js';
import { ConversationRepository, type ConversationRow } from '../persistence/conversation.repository.js';
import { RunReadModel } from '../persistence/run.read-model.js';
import { runVisibility } from './run-visibility.js';

export type ConversationOutcome =
  | { outcome: 'found'; conversation: Conversation }
  | { outcome: 'not_found' }
  | { outcome: 'format_not_supported'; format: string };

export type TranscriptOutcome =
  { outcome: 'found'; url: string } | { outcome: 'not_found' } | { outcome: 'built_in_format' };

const BUILT_IN_FORMAT = TRANSCRIPT_FORMATS_BY_HARNESS.oz;

/** Reads conversations: the kept steps once an execution has ended, before that what its transcript holds so far. */
@Injectable()
export class ReadConversation {
  constructor(
    private readonly runs: RunReadModel,
    private readonly conversations: ConversationRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
  ) {}

  async ofRun(caller: Caller, runId: string): Promise<ConversationOutcome> {
    return this.read(await this.find(caller, runId));
  }

  async byId(caller: Caller, id: string): Promise<ConversationOutcome> {
    return this.read(await this.conversations.findVisible(this.database, id, runVisibility(caller)));
  }

  private async read(conversation: ConversationRow | undefined): Promise<ConversationOutcome> {
    if (conversation === undefined) return { outcome: 'not_found' };
    const kept = await this.keptSteps(conversation);
    if (kept !== undefined) return found(conversation, kept);
    return this.derive(conversation);
  }

  /** A URL of the raw transcript that expires; undefined when there is none. */
  async transcriptUrl(caller: Caller, runId: string): Promise<string | undefined> {
    return this.urlOf(await this.find(caller, runId), runId);
  }

  /** The same of a conversation, which is for the formats that their own agents can read. */
  async transcriptUrlById(caller: Caller, id: string): Promise<TranscriptOutcome> {
    const conversation = await this.conversations.findVisible(this.database, id, runVisibility(caller));
    if (conversation?.format === BUILT_IN_FORMAT) return { outcome: 'built_in_format' };
    const url = await this.urlOf(conversation, id);
    return url === undefined ? { outcome: 'not_found' } : { outcome: 'found', url };
  }

  /** A URL of what the agent's terminal showed that expires; undefined when there is none. */
  async blockSnapshotUrl(caller: Caller, id: string): Promise<string | undefined> {
    const conversation = await this.conversations.findVisible(this.database, id, runVisibility(caller));
    return this.downloadUrl(conversation?.block_snapshot_key, {
      filename: `blocks-${id}.json`,
      contentType: 'application/json',
    });
  }

  /** Whether the link to a conversation leads there: it exists and no agent is at work on it. */
  isAtRest(id: string): Promise<boolean> {
    return this.conversations.isAtRest(this.database, id);
  }

  private urlOf(conversation: ConversationRow | undefined, name: string): Promise<string | undefined> {
    return this.downloadUrl(conversation?.transcript_key, {
      filename: `transcript-${name}.jsonl`,
      contentType: 'application/x-ndjson',
    });
  }

  private async downloadUrl(
    key: string | null | undefined,
    options: DownloadOptions,
  ): Promise<string | undefined> {
    if (!key || (await this.storage.stat(key)) === undefined) return undefined;
    return this.storage.downloadUrl(key, options);
  }

  /** Reads the transcript from its beginning, line by line. */
  async derive(conversation: ConversationRow): Promise<ConversationOutcome> {
    const reader = transcriptReader(conversation.format);
    if (reader === undefined) return { outcome: 'format_not_supported', format: conversation.format };
    const transcript = conversation.transcript_key
      ? await this.storage.open(conversation.transcript_key)
      : undefined;
    if (transcript === undefined) return { outcome: 'not_found' };
    for await (const line of createInterface({ input: transcript.body, crlfDelay: Infinity }))
      reader.read(line);
    return found(conversation, reader.steps());
  }

  private async find(caller: Caller, runId: string): Promise<ConversationRow | undefined> {
    if (!(await this.runs.exists(runId, runVisibility(caller)))) return undefined;
    return this.conversations.ofRun(this.database, runId);
  }

  private async keptSteps(conversation: ConversationRow): Promise<Step[] | undefined> {
    if (conversation.normalised_key === null) return undefined;
    const object = await this.storage.open(conversation.normalised_key);
    return object && (JSON.parse(await text(object.body)) as Step[]);
  }
}

const found = ({ id }: ConversationRow, steps: Step[]): ConversationOutcome => ({
  outcome: 'found',
  conversation: { conversation_id: id, steps },
});
