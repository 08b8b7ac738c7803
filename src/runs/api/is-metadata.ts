import { ValidateBy } from 'class-validator';
import { complaintAbout } from '../domain/metadata.js';

/** The property is the metadata of a run: string pairs within their limits. */
export const IsMetadata = (): PropertyDecorator =>
  ValidateBy({
    name: 'isMetadata',
    validator: {
      validate: (value: unknown) => complaintAbout(value) === undefined,
      defaultMessage: (args) => complaintAbout(args?.value) ?? '',
    },
  });
