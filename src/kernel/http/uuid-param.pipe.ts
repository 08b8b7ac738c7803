import { Injectable, type PipeTransform } from '@nestjs/common';
import { Problem } from '../errors/problem.js';
import { isUuid } from '../ids.js';

/** A malformed id in a path names nothing, so it answers 404 like an unknown one. */
@Injectable()
export class UuidParam implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!isUuid(value)) throw Problem.notFound('resource');
    return value.toLowerCase();
  }
}
