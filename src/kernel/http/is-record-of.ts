import { plainToInstance, Transform } from 'class-transformer';
import { ValidateBy, validateSync, type ValidationError } from 'class-validator';
import { applyDecorators } from '@nestjs/common';

type Constructor = new () => object;

/**
 * The property is a JSON object whose values are all strings, or all valid objects of a DTO class. class-validator itself looks into
 * arrays and maps, but not into plain objects.
 */
export function IsRecordOf(values: 'string' | (() => Constructor)): PropertyDecorator {
  if (values === 'string') {
    return isRecord('isRecordOfStrings', (value) =>
      typeof value === 'string' ? undefined : 'must be a string',
    );
  }
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      isPlainObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, item]) => [
              key,
              isPlainObject(item) ? plainToInstance(values(), item) : item,
            ]),
          )
        : value,
    ),
    isRecord('isRecordOfObjects', (value) =>
      isPlainObject(value)
        ? firstMessage(validateSync(value, { whitelist: true, forbidNonWhitelisted: true }))
        : 'must be an object',
    ),
  );
}

const isRecord = (name: string, complaint: (value: unknown) => string | undefined): PropertyDecorator =>
  ValidateBy({
    name,
    validator: {
      validate: (record: unknown) =>
        isPlainObject(record) && Object.values(record).every((value) => complaint(value) === undefined),
      defaultMessage: (args) => {
        const record: unknown = args?.value;
        if (!isPlainObject(record)) return 'must be an object';
        for (const [key, value] of Object.entries(record)) {
          const message = complaint(value);
          if (message !== undefined) return `[${key}] ${message}`;
        }
        return '';
      },
    },
  });

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function firstMessage(errors: ValidationError[]): string | undefined {
  for (const error of errors) {
    const message = Object.values(error.constraints ?? {})[0] ?? firstMessage(error.children ?? []);
    if (message !== undefined) return message;
  }
  return undefined;
}
