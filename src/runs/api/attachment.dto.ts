import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';
import { IsFileName, IsMediaType } from '../../kernel/http/file-fields.js';
import { MAX_ATTACHMENT_BYTES, type NewAttachment } from '../application/store-attachments.js';

/** A file for the agent. */
export class AttachmentDto {
  /**
   * Its name, without a path: 1 to 255 characters, no slash, backslash or control character, not `.` or `..`.
   * @example "trace.log"
   */
  @IsFileName()
  file_name: string;

  /**
   * Its media type.
   * @example "text/plain"
   */
  @IsMediaType()
  mime_type: string;

  /**
   * Its bytes in base64 (RFC 4648, section 4), at most 10 MiB of them.
   * @example "aGVsbG8K"
   */
  @ApiProperty({ format: 'byte' })
  @IsFileData()
  data: string;
}

/** The property is the bytes of a file in strict base64: padded, in the standard alphabet, without spaces. */
function IsFileData(): PropertyDecorator {
  return ValidateBy({
    name: 'isFileData',
    validator: {
      validate: (value: unknown) => complaintAboutData(value) === undefined,
      defaultMessage: (args) => complaintAboutData(args?.value) ?? '',
    },
  });
}

function complaintAboutData(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'data must be a string';
  if (value.length > Math.ceil(MAX_ATTACHMENT_BYTES / 3) * 4)
    return 'data must be at most 10 MiB when decoded';
  // Buffer skips what it does not know: only strict base64 comes back as it was.
  const bytes = Buffer.from(value, 'base64');
  if (bytes.toString('base64') !== value) return 'data must be base64, padded and without spaces';
  return bytes.length > MAX_ATTACHMENT_BYTES ? 'data must be at most 10 MiB when decoded' : undefined;
}

export const toNewAttachment = ({ file_name, mime_type, data }: AttachmentDto): NewAttachment => ({
  fileName: file_name,
  mimeType: mime_type,
  bytes: Buffer.from(data, 'base64'),
});
