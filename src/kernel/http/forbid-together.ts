import { ValidateBy } from 'class-validator';

/** The property must not be given together with any of the others. */
export const ForbidTogether = (others: string[]): PropertyDecorator =>
  ValidateBy({
    name: 'forbidTogether',
    validator: {
      validate: (_value, args) =>
        others.every((other) => (args?.object as Record<string, unknown> | undefined)?.[other] === undefined),
      defaultMessage: () => `cannot be given together with ${others.join(' or ')}`,
    },
  });
