import { ApiProperty } from '@nestjs/swagger';
import type { SnapshotFile } from '../../artifacts/index.js';

/** A file that an execution left behind. */
export class HandoffAttachment {
  /**
   * The file.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  @ApiProperty({ format: 'uuid' })
  attachment_id: string;

  /**
   * Its name.
   * @example "changes.patch"
   */
  filename: string;

  /**
   * Needs no key, and expires.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJnZXQifQ.c2lnbmF0dXJl"
   */
  download_url: string;

  /**
   * Its media type.
   * @example "text/x-diff"
   */
  mime_type?: string;
}

/** What the latest ended execution of a run left behind. */
export class HandoffAttachmentsResponse {
  /** Empty when it left nothing. */
  attachments: HandoffAttachment[];
}

export const toHandoffAttachments = (files: SnapshotFile[]): HandoffAttachmentsResponse => ({
  attachments: files.map(({ id, fileName, mimeType, downloadUrl }) => ({
    attachment_id: id,
    filename: fileName,
    download_url: downloadUrl,
    mime_type: mimeType,
  })),
});
