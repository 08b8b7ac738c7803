import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, ArrayNotEmpty, IsArray, IsUUID, ValidateNested } from 'class-validator';
import { IsFileName, IsMediaType } from '../../kernel/http/file-fields.js';
import { TolerateUnknownFields } from '../../kernel/http/request-validation.pipe.js';
import type { UploadTarget } from '../../kernel/storage/object-storage.js';

const MAX_FILES = 25;
const MAX_IDS = 100;

/** A file that a run is to be given. */
@TolerateUnknownFields()
export class AttachmentToPrepare {
  /**
   * Its name, without a path.
   * @example "trace.log"
   */
  @IsFileName()
  filename: string;

  /**
   * Its media type.
   * @example "text/plain"
   */
  @IsMediaType()
  mime_type: string;
}

/** Files that a run is to be given. */
@TolerateUnknownFields()
export class PrepareAttachmentsRequest {
  /** At most 25 in one request. */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_FILES)
  @ValidateNested({ each: true })
  @Type(() => AttachmentToPrepare)
  files: AttachmentToPrepare[];
}

/** Where the bytes of an attachment are to be put. */
export class AttachmentUploadTarget {
  /**
   * The address; it needs no key and expires.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJwdXQifQ.c2lnbmF0dXJl"
   */
  url: string;

  /**
   * The method.
   * @example "PUT"
   */
  @ApiProperty({ enum: ['PUT', 'POST'] })
  method: 'PUT' | 'POST';

  /**
   * Headers to send.
   * @example { "Content-Type": "text/plain" }
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, nullable: true })
  headers: Record<string, string> | null;

  /** Fields of a multipart form to send; null: the body is the bytes themselves. */
  @ApiProperty({ type: 'array', items: { type: 'object' }, nullable: true, example: null })
  fields: null;
}

/** An attachment whose bytes are to be put. */
export class PreparedAttachment {
  /**
   * That of the attachment.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  attachment_id: string;

  /**
   * Where its bytes are to be put, as `upload_target` says in full.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJwdXQifQ.c2lnbmF0dXJl"
   */
  upload_url: string;

  /** Where and how its bytes are to be put. */
  upload_target: AttachmentUploadTarget;
}

/** The attachments whose bytes are to be put. */
export class PreparedAttachmentsResponse {
  /** One for each file, in their order. */
  attachments: PreparedAttachment[];
}

export const toPreparedAttachments = (
  attachments: { id: string; target: UploadTarget }[],
): PreparedAttachmentsResponse => ({
  attachments: attachments.map(({ id, target: { url, method, headers, fields } }) => ({
    attachment_id: id,
    upload_url: url,
    upload_target: { url, method, headers, fields },
  })),
});

/** Attachments that are to be downloaded. */
@TolerateUnknownFields()
export class DownloadAttachmentsRequest {
  /**
   * Their ids.
   * @example ["019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"]
   */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_IDS)
  @IsUUID(undefined, { each: true })
  @Transform(({ value }: { value: unknown }): unknown =>
    Array.isArray(value)
      ? value.map((id: unknown) => (typeof id === 'string' ? id.toLowerCase() : id))
      : value,
  )
  attachment_ids: string[];
}

/** An attachment that can be downloaded. */
export class DownloadableAttachment {
  /**
   * That of the attachment.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  attachment_id: string;

  /**
   * Needs no key, and expires.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJnZXQifQ.c2lnbmF0dXJl"
   */
  download_url: string;
}

/** The attachments that can be downloaded. */
export class DownloadableAttachmentsResponse {
  /** Without those that the run has not, or whose bytes have not been put. */
  attachments: DownloadableAttachment[];
}

export const toDownloadableAttachments = (
  attachments: { id: string; downloadUrl: string }[],
): DownloadableAttachmentsResponse => ({
  attachments: attachments.map(({ id, downloadUrl }) => ({ attachment_id: id, download_url: downloadUrl })),
});
