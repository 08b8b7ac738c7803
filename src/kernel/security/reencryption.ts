import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../clock.js';
import { BackgroundWork } from '../jobs/background-work.js';
import type { Tx } from '../persistence/database.js';
import { Transactor } from '../persistence/transactor.js';
import { SealedValueError, type SealedValue, SecretBox } from './secret-box.js';

/** Of up to 64 KiB each. */
const BATCH_SIZE = 50;
const REPEAT_MS = 10 * MINUTE;

/** A sealed value as it is stored. */
export interface SealedRecord extends SealedValue {
  uid: string;
}

/** Where sealed values are kept. It knows ciphertexts alone. */
export interface SealedStore {
  /** What is kept, for the operator, such as `secrets`. */
  readonly what: string;
  /** What a value belongs to, see {@link SecretBox.seal}. */
  contextOf(uid: string): string;
  /** Values under this key in the order of their uids. @param afterUid where the batch before ended */
  underKey(keyId: string, limit: number, afterUid: string | undefined): Promise<SealedRecord[]>;
  /** The same values under another key, each unless it has changed meanwhile. @returns how many */
  reseal(tx: Tx, values: { before: SealedRecord; after: SealedValue }[]): Promise<number>;
  /** Values under none of these keys. */
  countUnderOtherKeys(keyIds: string[]): Promise<number>;
}

/**
 * Brings every sealed value under the present encryption key when ENCRYPTION_KEY_PREVIOUS names the one of before: at the start, and again
 * from time to time, as replicas that still run with the old key write under it until the last of them is replaced. Meanwhile values
 * open with either key. Any number of replicas may do it at once.
 */
@Injectable()
export class Reencryption implements OnApplicationBootstrap {
  private readonly logger = new Logger(Reencryption.name);
  private readonly stores: SealedStore[] = [];

  constructor(
    private readonly box: SecretBox,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
    private readonly config: AppConfig,
  ) {}

  /** Call it in `onModuleInit`. */
  register(store: SealedStore): void {
    this.stores.push(store);
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    const { keyId, previousKeyId } = this.box;
    for (const store of this.stores) {
      await this.reencrypt(store);
      const lost = await store.countUnderOtherKeys([keyId, previousKeyId ?? keyId]);
      if (lost > 0) {
        this.logger.error(
          { count: lost },
          `${store.what} are unreadable: they were encrypted with a key that is neither ENCRYPTION_KEY nor ENCRYPTION_KEY_PREVIOUS`,
        );
      }
    }
  }

  @Interval(REPEAT_MS)
  async tick(): Promise<void> {
    for (const store of this.stores) {
      await this.background.round(
        { role: 'sweeper', complaint: `${store.what} could not be encrypted anew` },
        () => this.reencrypt(store),
      );
    }
  }

  private async reencrypt(store: SealedStore): Promise<void> {
    const { keyId, previousKeyId } = this.box;
    if (previousKeyId === undefined) return;
    let done = 0;
    let batch = await store.underKey(previousKeyId, BATCH_SIZE, undefined);
    while (batch.length > 0) {
      const resealed = batch.flatMap((before) => this.reseal(store, before));
      done += await this.transactor.run((tx) => store.reseal(tx, resealed));
      batch = await store.underKey(previousKeyId, BATCH_SIZE, batch.at(-1)?.uid);
    }
    if (done > 0) this.logger.log({ count: done, key_id: keyId }, `encrypted ${store.what} with the new key`);
  }

  private reseal(store: SealedStore, before: SealedRecord): { before: SealedRecord; after: SealedValue }[] {
    const context = store.contextOf(before.uid);
    try {
      return [{ before, after: this.box.seal(context, this.box.open(context, before)) }];
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      this.logger.error({ uid: before.uid }, `one of the ${store.what} is unreadable: ${error.message}`);
      return [];
    }
  }
}
