export { ArtifactItemResponse, toArtifactItem } from './api/artifact-item.dto.js';
export { ArtifactRuns } from './application/artifact-runs.js';
export { OpenUpload } from './application/open-upload.js';
export { ReportArtifact } from './application/report-artifact.js';
export { RunArtifacts } from './application/run-artifacts.js';
export { type NamedFile, type SnapshotFile, Snapshots } from './application/snapshots.js';
export { ArtifactsModule } from './artifacts.module.js';
export {
  ARTIFACT_TYPES,
  type ArtifactReport,
  type ArtifactType,
  type ArtifactView,
  FILE_TYPES,
  type FileType,
} from './domain/artifact.js';
