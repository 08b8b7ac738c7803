import { applyDecorators } from '@nestjs/common';
import { IsString, Matches, MaxLength } from 'class-validator';

const MAX_FILE_NAME = 255;
const FILE_NAME = /^(?!\.\.?$)[^/\\\p{Cc}]+$/u;

/** Whether the text is what {@link IsFileName} asks for. */
export const isFileName = (text: string): boolean => text.length <= MAX_FILE_NAME && FILE_NAME.test(text);

/** The name of a file, without a path: 1 to 255 characters, no slash, backslash or control character, not `.` or `..`. */
export const IsFileName = ({ each = false } = {}): PropertyDecorator =>
  applyDecorators(
    IsString({ each }),
    MaxLength(MAX_FILE_NAME, { each }),
    Matches(FILE_NAME, {
      each,
      message: '$property must be a name without slashes, backslashes and control characters',
    }),
  );

/** A media type, with parameters if need be (RFC 9110, 8.3.1; no quoted values). */
export const IsMediaType = (): PropertyDecorator =>
  applyDecorators(
    IsString(),
    MaxLength(255),
    Matches(/^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9_.-]+=[A-Za-z0-9_.-]+)*$/, {
      message: '$property must be a media type such as text/plain',
    }),
  );
