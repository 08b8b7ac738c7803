import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { IsBoolean, IsString, MaxLength } from 'class-validator';
import type { PlanArtifact, ReadableArtifact } from '../application/read-artifact.js';
import {
  ARTIFACT_TYPES,
  type ArtifactType,
  type FileArtifact,
  type PlanContent,
} from '../domain/artifact.js';

/** A plan and what it says now. */
export class PlanContentData {
  /**
   * The document, by the agent's own name for it.
   * @example "release-plan"
   */
  document_uid: string;

  /**
   * The notebook that the document is in; empty when there is none.
   * @example ""
   */
  notebook_uid: string;

  /**
   * The current content; empty when none was reported.
   * @example "1. Freeze\n2. Tag\n3. Publish"
   */
  content: string;

  /**
   * Its media type.
   * @example "text/markdown"
   */
  content_type: string;

  /**
   * Where the agent keeps it.
   * @example "https://docs.example/release-plan"
   */
  url?: string;

  /**
   * Its title.
   * @example "How to release"
   */
  title?: string;
}

/** A file and where it is to be had. */
export class FileDownloadData {
  /**
   * Needs no key, and expires.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJnZXQifQ.c2lnbmF0dXJl"
   */
  download_url: string;

  /**
   * When the URL expires.
   * @example "2026-11-21T09:45:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  expires_at: string;

  /**
   * Its media type.
   * @example "text/html"
   */
  content_type: string;

  /**
   * Its name.
   * @example "coverage.html"
   */
  filename: string;

  /**
   * Where it was in the agent's workspace; for readers who may see the run.
   * @example "reports/coverage.html"
   */
  filepath?: string;

  /**
   * Its title.
   * @example "Coverage"
   */
  title?: string;

  /**
   * What is in it.
   * @example "Coverage of the tests, by file"
   */
  description?: string;

  /**
   * How many bytes it has.
   * @example 48213
   */
  size_bytes?: number;
}

/** An artifact and its content. */
@ApiExtraModels(PlanContentData, FileDownloadData)
export class ArtifactResponse {
  /**
   * The artifact.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;

  /**
   * What it is; `data` depends on it.
   * @example "FILE"
   */
  @ApiProperty({ enum: ARTIFACT_TYPES })
  artifact_type: ArtifactType;

  /**
   * When it was reported first.
   * @example "2026-11-21T09:31:07.500Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /** A plan's content, or where a file is to be had. */
  @ApiProperty({
    oneOf: [{ $ref: getSchemaPath(FileDownloadData) }, { $ref: getSchemaPath(PlanContentData) }],
  })
  data: PlanContentData | FileDownloadData;
}

export function toArtifactResponse(readable: ReadableArtifact): ArtifactResponse {
  const { uid, artifact_type, created_at } = readable.artifact;
  return {
    artifact_uid: uid,
    artifact_type,
    created_at: created_at.toISOString(),
    data: readable.kind === 'plan' ? toPlanData(readable.artifact, readable.current) : toFileData(readable),
  };
}

const toPlanData = ({ data }: PlanArtifact, current: PlanContent | undefined): PlanContentData => ({
  document_uid: data.document_uid,
  notebook_uid: data.notebook_uid ?? '',
  content: current?.content ?? '',
  content_type: current?.content_type ?? 'text/markdown',
  url: data.url,
  title: data.title,
});

const toFileData = ({
  artifact,
  downloadUrl,
  expiresAt,
  seesRun,
}: Extract<ReadableArtifact, { kind: 'file' }>): FileDownloadData => ({
  download_url: downloadUrl,
  expires_at: expiresAt.toISOString(),
  content_type: artifact.data.mime_type,
  filename: artifact.data.filename,
  filepath: seesRun ? filepathOf(artifact) : undefined,
  title: artifact.data.title,
  description: artifact.data.description,
  size_bytes: artifact.size_bytes,
});

const filepathOf = (artifact: FileArtifact): string | undefined =>
  artifact.artifact_type === 'FILE' ? artifact.data.filepath : undefined;

/** Whether everybody may read an artifact. */
export class PublishArtifactRequest {
  /**
   * True: without a key, too. False: whoever sees its run.
   * @example true
   */
  @IsBoolean()
  public: boolean;
}

/** Whether everybody may read the artifact now. */
export class PublishedArtifactResponse {
  /**
   * The artifact.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;

  /**
   * Whether it can be read without a key.
   * @example true
   */
  public: boolean;
}

/** What to look for. */
export class ExternalReferenceQuery {
  /**
   * The URL of the reference. Case of scheme and host, default port, fragment and trailing slashes make no difference.
   * @example "https://tracker.example/issues/1142"
   */
  @IsString()
  @MaxLength(2048)
  url: string;
}

/** The run that reported a reference. */
export class ReportingRunResponse {
  /**
   * The run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @ApiProperty({ format: 'uuid' })
  run_id: string;
}
