import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ArtifactRepository } from '../persistence/artifact.repository.js';

const BATCH_SIZE = 1_000;

/** Forgets uploads that were never reported, a batch a minute; their objects go with them. */
@Injectable()
export class SweepArtifacts {
  constructor(
    private readonly artifacts: ArtifactRepository,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(MINUTE)
  tick(): Promise<void> {
    return this.background.round({ role: 'sweeper', complaint: 'uploads could not be forgotten' }, () =>
      this.execute(),
    );
  }

  execute(): Promise<void> {
    return this.transactor.run((tx) => this.artifacts.expireUploads(tx, BATCH_SIZE));
  }
}
