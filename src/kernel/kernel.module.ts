import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config/app-config.js';
import { Clock } from './clock.js';
import { ErrorPagesController } from './errors/error-pages.controller.js';
import { ProblemFilter } from './http/problem.filter.js';
import { BackgroundWork } from './jobs/background-work.js';
import { JobQueue } from './jobs/job-queue.js';
import { Metrics } from './observability/metrics.js';
import { OperationsController } from './observability/operations.controller.js';
import { Readiness } from './observability/readiness.js';
import { DatabaseUrl } from './persistence/database-url.js';
import { Database } from './persistence/database.js';
import { DatabaseClock, SharedClock } from './persistence/shared-clock.js';
import { Signals } from './persistence/signals.js';
import { Transactor } from './persistence/transactor.js';
import { Keyring } from './security/keyring.js';
import { Reencryption } from './security/reencryption.js';
import { SecretBox } from './security/secret-box.js';
import { FileSystemStorage } from './storage/file-system-storage.js';
import { ObjectDeletions } from './storage/object-deletions.js';
import { ObjectStorage } from './storage/object-storage.js';
import { ObjectsController } from './storage/objects.controller.js';
import { SweepObjects } from './storage/sweep-objects.js';

/** What the application is built on: made before it starts and handed in. */
export interface Foundation {
  config: AppConfig;
  databaseUrl: DatabaseUrl;
  dataSource: DataSource;
  encryptionKey: Buffer;
  clock: Clock;
  /** The time that replicas agree on; the database's unless a test turns it. */
  sharedClock?: SharedClock;
}

@Global()
@Module({})
export class KernelModule {
  static for(foundation: Foundation): DynamicModule {
    const providers = [
      { provide: AppConfig, useValue: foundation.config },
      { provide: DatabaseUrl, useValue: foundation.databaseUrl },
      { provide: DataSource, useValue: foundation.dataSource },
      { provide: Keyring, useValue: new Keyring(foundation.encryptionKey) },
      {
        provide: SecretBox,
        useValue: new SecretBox(foundation.encryptionKey, foundation.config.encryptionKeyPrevious),
      },
      { provide: Clock, useValue: foundation.clock },
      { provide: SharedClock, useValue: foundation.sharedClock ?? new DatabaseClock() },
      {
        provide: ObjectStorage,
        useFactory: async (config: AppConfig, keyring: Keyring, clock: Clock): Promise<ObjectStorage> => {
          if (config.s3 === undefined) return new FileSystemStorage(config, keyring, clock);
          // Loaded only where it is used: the SDK is larger than all else.
          const { S3Storage } = await import('./storage/s3-storage.js');
          return new S3Storage(config.s3, config);
        },
        inject: [AppConfig, Keyring, Clock],
      },
      Database,
      Transactor,
      Signals,
      BackgroundWork,
      JobQueue,
      ObjectDeletions,
      SweepObjects,
      Reencryption,
      Metrics,
      Readiness,
      ProblemFilter,
    ];
    return {
      module: KernelModule,
      controllers: [OperationsController, ErrorPagesController, ObjectsController],
      providers,
      exports: providers,
    };
  }
}
