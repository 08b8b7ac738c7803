import { Injectable, type PipeTransform } from '@nestjs/common';
import { ENVIRONMENT_ID } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';

/** A malformed id in a path names nothing, so it answers 404 like an unknown one. */
@Injectable()
export class EnvironmentUidParam implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!ENVIRONMENT_ID.test(value)) throw Problem.notFound('environment');
    return value;
  }
}
