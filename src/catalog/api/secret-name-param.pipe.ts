import { Injectable, type PipeTransform } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { SECRET_NAME } from '../domain/secret-name.js';

/** What cannot be the name of a secret names none, so it answers 404 like an unknown one. */
@Injectable()
export class SecretNameParam implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!SECRET_NAME.test(value)) throw Problem.notFound('secret');
    return value;
  }
}
