import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Readable } from 'node:stream';
import { JobQueue } from '../../kernel/jobs/job-queue.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ObjectStorage } from '../../kernel/storage/object-storage.js';
import { ConversationRepository } from '../persistence/conversation.repository.js';
import { ReadConversation } from './read-conversation.js';

const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Keeps the normalised steps of a conversation once an execution has ended. The raw transcript stays untouched, so a better reader
 * can be run over it again.
 */
@Injectable()
export class NormaliseConversation implements OnModuleInit {
  constructor(
    private readonly jobs: JobQueue,
    private readonly database: Database,
    private readonly transactor: Transactor,
    private readonly storage: ObjectStorage,
    private readonly conversations: ConversationRepository,
    private readonly readConversation: ReadConversation,
  ) {}

  onModuleInit(): void {
    this.jobs.handle('normalise_conversation', ({ conversationId }) => this.execute(conversationId));
  }

  async execute(conversationId: string): Promise<void> {
    const conversation = await this.conversations.find(this.database, conversationId);
    const transcriptKey = conversation?.transcript_key;
    if (conversation === undefined || !transcriptKey) return;
    const derived = await this.readConversation.derive(conversation);
    if (derived.outcome !== 'found') return;
    const normalisedKey = `${transcriptKey}.steps.json`;
    await this.storage.put(
      normalisedKey,
      Readable.from([Buffer.from(JSON.stringify(derived.conversation.steps))]),
      MAX_BYTES,
    );
    await this.transactor.run((tx) =>
      this.conversations.setNormalised(tx, conversationId, transcriptKey, normalisedKey),
    );
  }
}
