import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ArtifactRepository } from '../persistence/artifact.repository.js';

const BATCH_SIZE = 1_000;

/** Forgets uploads that were never reported, a batch a minute; their objects go with them. */
@Injectable()
export class SweepArtifacts {
  private readonly logger = new Logger(SweepArtifacts.name);

  constructor(
    private readonly artifacts: ArtifactRepository,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  @Interval(MINUTE)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    try {
      await withNewTrace(() => this.execute());
    } catch (error) {
      this.logger.error({ err: error }, 'uploads could not be forgotten; the next minute tries again');
    }
  }

  execute(): Promise<void> {
    return this.transactor.run((tx) => this.artifacts.expireUploads(tx, BATCH_SIZE));
  }
}
