import { Module } from '@nestjs/common';
import { ArtifactsController } from './api/artifacts.controller.js';
import { StorageController } from './api/storage.controller.js';
import { FindOrphanObjects } from './application/find-orphan-objects.js';
import { OpenUpload } from './application/open-upload.js';
import { PublishArtifact } from './application/publish-artifact.js';
import { ReadArtifact } from './application/read-artifact.js';
import { ReportArtifact } from './application/report-artifact.js';
import { RunArtifacts } from './application/run-artifacts.js';
import { Snapshots } from './application/snapshots.js';
import { SweepArtifacts } from './application/sweep-artifacts.js';
import { ArtifactReadModel } from './persistence/artifact.read-model.js';
import { ArtifactRepository } from './persistence/artifact.repository.js';
import { SnapshotRepository } from './persistence/snapshot.repository.js';

/** What runs leave behind. `ArtifactRuns` is bound by the runs module, for the whole application. */
@Module({
  controllers: [ArtifactsController, StorageController],
  providers: [
    ReportArtifact,
    OpenUpload,
    ReadArtifact,
    PublishArtifact,
    RunArtifacts,
    Snapshots,
    SweepArtifacts,
    FindOrphanObjects,
    ArtifactReadModel,
    ArtifactRepository,
    SnapshotRepository,
  ],
  exports: [ReportArtifact, OpenUpload, RunArtifacts, Snapshots],
})
export class ArtifactsModule {}
