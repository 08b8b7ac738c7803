import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { plainToInstance, Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Max,
  MaxLength,
  Min,
  ValidateBy,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import {
  ARTIFACT_TYPES,
  type ArtifactReport,
  type ArtifactType,
  FILE_TYPES,
  type FileType,
} from '../../artifacts/index.js';
import { IsFileName, isFileName, IsMediaType } from '../../kernel/http/file-fields.js';
import { TolerateUnknownFields } from '../../kernel/http/request-validation.pipe.js';
import { UploadTargetDto } from './harness-support.dto.js';

const MAX_NAME = 256;
const MAX_TITLE = 1_000;
const MAX_URL = 2_048;
const MAX_DESCRIPTION = 2_000;
const MAX_PATH = 1_024;
const MAX_METADATA = 16_384;
const MAX_PLAN = 1_000_000;
const MAX_SNAPSHOT_FILES = 25;
const MAX_CHECKPOINT_FILES = 100;

/** The property is the number of a checkpoint. */
const IsGeneration = (): PropertyDecorator => applyDecorators(IsInt(), Min(0), Max(Number.MAX_SAFE_INTEGER));

/** The property is an object that is short as JSON. */
const IsSmallObject = (): PropertyDecorator =>
  applyDecorators(
    IsObject(),
    ValidateBy({
      name: 'isSmall',
      validator: {
        validate: (value: unknown) => JSON.stringify(value).length <= MAX_METADATA,
        defaultMessage: () => `must be at most ${String(MAX_METADATA)} characters of JSON`,
      },
    }),
  );

/** A plan. */
@TolerateUnknownFields()
export class PlanReportDto {
  /**
   * The document, by the agent's own name for it: the same name in one run is the same plan.
   * @example "release-plan"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_NAME)
  document_uid: string;

  /**
   * The notebook that the document is in.
   * @example "notebook-7"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_NAME)
  notebook_uid?: string;

  /**
   * Where the agent keeps it.
   * @example "https://docs.example/release-plan"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_URL)
  url?: string;

  /**
   * Its title.
   * @example "How to release"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TITLE)
  title?: string;

  /**
   * What it says now. Left out, the content of before stays.
   * @example "1. Freeze\n2. Tag\n3. Publish"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_PLAN)
  content?: string;

  /**
   * Media type of the content; `text/markdown` if left out.
   * @example "text/markdown"
   */
  @IsOptional()
  @IsMediaType()
  content_type?: string;
}

/** A pull request. */
@TolerateUnknownFields()
export class PullRequestReportDto {
  /**
   * Its address: http or https, without credentials. The same address in one run is the same pull request.
   * @example "https://github.com/acme/shop/pull/7"
   */
  @IsString()
  @MaxLength(MAX_URL)
  url: string;

  /**
   * The branch that it merges.
   * @example "fix-checkout"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_TITLE)
  branch: string;
}

/** Something elsewhere that the run is about. */
@TolerateUnknownFields()
export class ExternalReferenceReportDto {
  /**
   * What kind of thing it is.
   * @example "issue"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_NAME)
  reference_type: string;

  /**
   * Its address: http or https, without credentials.
   * @example "https://tracker.example/issues/1142"
   */
  @IsString()
  @MaxLength(MAX_URL)
  url: string;

  /**
   * Its title.
   * @example "Checkout fails for guests"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TITLE)
  title?: string;

  /**
   * What else is known of it: at most 16 KB as JSON, since lists of runs show it.
   * @example { "state": "open" }
   */
  @IsOptional()
  @IsSmallObject()
  metadata?: Record<string, unknown>;
}

/** A file whose bytes have been put at its upload target. */
@TolerateUnknownFields()
export class FileReportDto {
  /**
   * That of its upload.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @IsUUID()
  artifact_uid: string;

  /**
   * Where it is in the agent's workspace.
   * @example "reports/coverage.html"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_PATH)
  filepath: string;

  /**
   * Its name; if left out, the last part of `filepath`.
   * @example "coverage.html"
   */
  @IsOptional()
  @IsFileName()
  filename?: string;

  /**
   * Its title.
   * @example "Coverage"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TITLE)
  title?: string;

  /**
   * What is in it.
   * @example "Coverage of the tests, by file"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_DESCRIPTION)
  description?: string;
}

/** A screenshot whose bytes have been put at its upload target. */
@TolerateUnknownFields()
export class ScreenshotReportDto {
  /**
   * That of its upload.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @IsUUID()
  artifact_uid: string;

  /**
   * The name under which it is downloaded.
   * @example "checkout.png"
   */
  @IsOptional()
  @IsFileName()
  filename?: string;

  /**
   * Its title.
   * @example "The checkout"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_TITLE)
  title?: string;

  /**
   * What it shows.
   * @example "The checkout after the fix"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_DESCRIPTION)
  description?: string;
}

const REPORTS = {
  PLAN: PlanReportDto,
  PULL_REQUEST: PullRequestReportDto,
  SCREENSHOT: ScreenshotReportDto,
  FILE: FileReportDto,
  EXTERNAL_REFERENCE: ExternalReferenceReportDto,
} as const satisfies Record<ArtifactType, unknown>;

/** What the agent of a run has made. */
@TolerateUnknownFields()
@ApiExtraModels(...Object.values(REPORTS))
export class ReportArtifactRequestDto {
  /**
   * What it is.
   * @example "PULL_REQUEST"
   */
  @IsIn(ARTIFACT_TYPES)
  @ApiProperty({ enum: ARTIFACT_TYPES })
  artifact_type: ArtifactType;

  /** What there is to say of it, by type. */
  @Transform(({ value, obj }: { value: unknown; obj: { artifact_type?: unknown } }) =>
    asReport(value, obj.artifact_type),
  )
  @IsObject()
  @ValidateNested()
  @ApiProperty({
    anyOf: Object.values(REPORTS).map((report) => ({ $ref: getSchemaPath(report) })),
    example: { url: 'https://github.com/acme/shop/pull/7', branch: 'fix-checkout' },
  })
  data: InstanceType<(typeof REPORTS)[ArtifactType]>;
}

/** The type decides what `data` must hold; of an unknown one it is complained about itself. A field that is null counts as left out. */
function asReport(value: unknown, type: unknown): unknown {
  const report = ARTIFACT_TYPES.find((known) => known === type);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || report === undefined) return value;
  const given = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
  return plainToInstance<object, unknown>(REPORTS[report], given);
}

export function toArtifactReport({ artifact_type, data }: ReportArtifactRequestDto): ArtifactReport {
  switch (artifact_type) {
    case 'PLAN': {
      const { document_uid, notebook_uid, url, title, content, content_type } = data as PlanReportDto;
      return {
        type: 'PLAN',
        data: { document_uid, notebook_uid, url, title },
        content:
          content === undefined ? undefined : { content, content_type: content_type ?? 'text/markdown' },
      };
    }
    case 'PULL_REQUEST': {
      const { url, branch } = data as PullRequestReportDto;
      return { type: 'PULL_REQUEST', data: { url, branch } };
    }
    case 'EXTERNAL_REFERENCE': {
      const { reference_type, url, title, metadata } = data as ExternalReferenceReportDto;
      return { type: 'EXTERNAL_REFERENCE', data: { reference_type, url, title, metadata } };
    }
    case 'SCREENSHOT': {
      const { artifact_uid: uid, filename = 'screenshot', title, description } = data as ScreenshotReportDto;
      return { type: 'SCREENSHOT', uid: uid.toLowerCase(), data: { filename, title, description } };
    }
    case 'FILE': {
      const { artifact_uid: uid, filepath, filename, title, description } = data as FileReportDto;
      return {
        type: 'FILE',
        uid: uid.toLowerCase(),
        data: { filepath, filename: filename ?? lastPartOf(filepath), title, description },
      };
    }
  }
}

/** The file's name by its path; `file` where that has no part that could be one. */
function lastPartOf(path: string): string {
  const last = path.split(/[/\\]/).findLast((part) => part !== '') ?? '';
  return isFileName(last) ? last : 'file';
}

/** The artifact that a report is about. */
export class ReportedArtifactDto {
  /**
   * The same for every report of the same thing.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;
}

/** A file that is to be uploaded. */
@TolerateUnknownFields()
export class ArtifactUploadRequestDto {
  /**
   * What it will be.
   * @example "FILE"
   */
  @IsIn(FILE_TYPES)
  @ApiProperty({ enum: FILE_TYPES })
  artifact_type: FileType;

  /**
   * Its media type: the PUT carries it as `Content-Type`.
   * @example "text/html"
   */
  @IsMediaType()
  mime_type: string;
}

/** Where the bytes of a file are to be put. */
export class ArtifactUploadDto {
  /**
   * That of the artifact to come: report it once the bytes are there.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;

  /** Where the bytes go. */
  upload_target: UploadTargetDto;
}

/** A file of a snapshot. */
@TolerateUnknownFields()
export class SnapshotFileDto {
  /**
   * Its name.
   * @example "changes.patch"
   */
  @IsFileName()
  filename: string;

  /**
   * Its media type.
   * @example "text/x-diff"
   */
  @IsMediaType()
  mime_type: string;
}

/** The files that an execution leaves behind. */
@TolerateUnknownFields()
export class SnapshotUploadRequestDto {
  /** At most 25 in one request. */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_SNAPSHOT_FILES)
  @ValidateNested({ each: true })
  @Type(() => SnapshotFileDto)
  files: SnapshotFileDto[];

  /**
   * `checkpoint`: they count once they are committed. Left out: they are what the execution leaves behind at its end.
   * @example "checkpoint"
   */
  @IsOptional()
  @IsIn(['checkpoint'])
  @ApiProperty({ enum: ['checkpoint'], required: false })
  mode?: 'checkpoint';

  /**
   * Of a checkpoint: its number, higher than that of the one before. Without `mode` it says nothing.
   * @example 3
   */
  @ValidateIf(({ mode }: SnapshotUploadRequestDto) => mode !== undefined)
  @IsGeneration()
  @ApiProperty({ type: 'integer', format: 'int64', required: false })
  generation?: number;
}

/** A checkpoint whose files have been put. */
@TolerateUnknownFields()
export class CommitSnapshotRequestDto {
  /**
   * Its number.
   * @example 3
   */
  @IsGeneration()
  @ApiProperty({ type: 'integer', format: 'int64' })
  generation: number;

  /**
   * The names of all of its files; others that were put are dropped.
   * @example ["changes.patch"]
   */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_CHECKPOINT_FILES)
  @IsFileName({ each: true })
  files: string[];
}

/** The checkpoint that counts now. */
export class CommittedSnapshotDto {
  /**
   * Its number.
   * @example 3
   */
  @ApiProperty({ type: 'integer', format: 'int64' })
  generation: number;
}

/** Where the files are to be put. */
export class SnapshotUploadsDto {
  /** One for each file, in their order. */
  uploads: UploadTargetDto[];
}
