import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { ARTIFACT_TYPES, type ArtifactType, type ArtifactView } from '../domain/artifact.js';

/** What a run says of a plan. */
export class PlanItem {
  /**
   * The document, by the agent's own name for it.
   * @example "release-plan"
   */
  document_uid: string;

  /**
   * The artifact.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;

  /**
   * The notebook that the document is in.
   * @example "notebook-7"
   */
  notebook_uid?: string;

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

/** What a run says of a pull request. */
export class PullRequestItem {
  /**
   * Its address.
   * @example "https://github.com/acme/shop/pull/7"
   */
  url: string;

  /**
   * The branch that it merges.
   * @example "fix-checkout"
   */
  branch: string;
}

/** What a run says of a screenshot. */
export class ScreenshotItem {
  /**
   * The artifact.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;

  /**
   * Its media type.
   * @example "image/png"
   */
  mime_type: string;

  /**
   * What it shows.
   * @example "The checkout after the fix"
   */
  description?: string;
}

/** What a run says of a file. */
export class FileItem {
  /**
   * The artifact.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  artifact_uid: string;

  /**
   * Where it was in the agent's workspace.
   * @example "reports/coverage.html"
   */
  filepath: string;

  /**
   * Its name.
   * @example "coverage.html"
   */
  filename: string;

  /**
   * Its media type.
   * @example "text/html"
   */
  mime_type: string;

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

/** What a run says of something elsewhere. */
export class ExternalReferenceItem {
  /**
   * What kind of thing it is.
   * @example "issue"
   */
  reference_type: string;

  /**
   * Its address, as it was reported.
   * @example "https://tracker.example/issues/1142"
   */
  url: string;

  /**
   * Its title.
   * @example "Checkout fails for guests"
   */
  title?: string;

  /**
   * What else is known of it.
   * @example { "state": "open" }
   */
  metadata?: Record<string, unknown>;
}

const ITEMS = [PlanItem, PullRequestItem, ScreenshotItem, FileItem, ExternalReferenceItem];

/** An artifact of a run. */
@ApiExtraModels(...ITEMS)
export class ArtifactItemResponse {
  /**
   * What it is; `data` depends on it.
   * @example "PULL_REQUEST"
   */
  @ApiProperty({ enum: ARTIFACT_TYPES })
  artifact_type: ArtifactType;

  /**
   * When it was reported first.
   * @example "2026-11-21T09:31:07.500Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /** What is known of it, by type. */
  @ApiProperty({ anyOf: ITEMS.map((item) => ({ $ref: getSchemaPath(item) })) })
  data: PlanItem | PullRequestItem | ScreenshotItem | FileItem | ExternalReferenceItem;
}

export const toArtifactItem = (artifact: ArtifactView): ArtifactItemResponse => ({
  artifact_type: artifact.artifact_type,
  created_at: artifact.created_at.toISOString(),
  data: toData(artifact),
});

function toData(artifact: ArtifactView): ArtifactItemResponse['data'] {
  switch (artifact.artifact_type) {
    case 'PLAN': {
      const { document_uid, notebook_uid, url, title } = artifact.data;
      return { document_uid, artifact_uid: artifact.uid, notebook_uid, url, title };
    }
    case 'PULL_REQUEST': {
      const { url, branch } = artifact.data;
      return { url, branch };
    }
    case 'SCREENSHOT': {
      const { mime_type, description } = artifact.data;
      return { artifact_uid: artifact.uid, mime_type, description };
    }
    case 'FILE': {
      const { filepath, filename, mime_type, title, description } = artifact.data;
      const size_bytes = artifact.size_bytes ?? undefined;
      return { artifact_uid: artifact.uid, filepath, filename, mime_type, title, description, size_bytes };
    }
    case 'EXTERNAL_REFERENCE': {
      const { reference_type, url, title, metadata } = artifact.data;
      return { reference_type, url, title, metadata };
    }
  }
}
