import { ValidateBy } from 'class-validator';
import { isStorableText } from '../storable-text.js';

const MAX_TEXT = 1024;

/** A parameter that is compared with stored text: one value, and none that the database would refuse. */
export const IsSearchable = (): PropertyDecorator =>
  ValidateBy({
    name: 'isSearchable',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'string' && value.length <= MAX_TEXT && isStorableText(value),
      defaultMessage: () => `must be one text of at most ${String(MAX_TEXT)} characters, without NUL`,
    },
  });
