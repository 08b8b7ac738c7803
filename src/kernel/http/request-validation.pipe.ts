import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { type FieldError, Problem } from '../errors/problem.js';
import { requireStorable, toStorable } from './storable-body.js';

const OPTIONS = {
  transform: true,
  whitelist: true,
  exceptionFactory: (errors: ValidationError[]) =>
    Problem.invalid(errors.flatMap((error) => fieldErrors(error))),
} as const;

/**
 * Validates bodies and queries by the decorators of their DTO. An unknown field of a body is an error, an unknown query parameter is
 * not; a route that must tolerate unknown fields, and text that cannot be stored, marks its DTO with {@link TolerateUnknownFields}.
 */
@Injectable()
export class RequestValidationPipe extends ValidationPipe {
  private readonly strict = new ValidationPipe({ ...OPTIONS, forbidNonWhitelisted: true });

  constructor() {
    super(OPTIONS);
  }

  override transform(given: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const dto = metadata.metatype;
    if (metadata.type !== 'body' || dto === undefined)
      return super.transform(given, metadata) as Promise<unknown>;
    // No body at all says as much as an object without fields.
    const value = given === undefined ? {} : given;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw Problem.invalid([{ field: 'body', message: 'must be a JSON object' }]);
    }
    if (TOLERANT.has(dto)) return super.transform(toStorable(value), metadata) as Promise<unknown>;
    requireStorable(value);
    return this.strict.transform(value, metadata) as Promise<unknown>;
  }
}

const TOLERANT = new WeakSet();

/** Marks the body of a route that ignores unknown fields (worker and harness-support routes). */
export const TolerateUnknownFields = (): ClassDecorator => (target) => {
  TOLERANT.add(target);
};

function fieldErrors(error: ValidationError, parent = ''): FieldError[] {
  const field = parent === '' ? error.property : `${parent}.${error.property}`;
  // Constraints come in the order in which decorators run, the lowest first; the topmost says what the value must be at all.
  const broken = Object.entries(error.constraints ?? {}).at(-1);
  const own = broken === undefined ? [] : [{ field, message: describe(error.property, ...broken) }];
  return [...own, ...(error.children ?? []).flatMap((child) => fieldErrors(child, field))];
}

/** class-validator begins its messages with the property's name, which `field` already gives. */
const describe = (property: string, rule: string, message: string): string =>
  rule === 'whitelistValidation' ? 'is not a known field' : message.replace(`${property} `, '').trim();
