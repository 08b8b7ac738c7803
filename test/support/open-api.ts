import type { OpenAPIObject } from '@nestjs/swagger';
import type { Permission } from '../../src/identities/domain/permission.js';

interface Schema {
  $ref?: string;
  type?: string;
  example?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  allOf?: Schema[];
}

export interface Operation {
  method: string;
  path: string;
  /** What it declares; undefined when it declares nothing. */
  permission: Permission | undefined;
  isPublic: boolean;
  body: Schema | undefined;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

export function operationsOf(document: OpenAPIObject): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const content =
        operation.requestBody && 'content' in operation.requestBody ? operation.requestBody.content : {};
      return [
        {
          method: method.toUpperCase(),
          path,
          permission: (operation as { 'x-required-permission'?: Permission })['x-required-permission'],
          isPublic: operation.security?.some((requirement) => Object.keys(requirement).length === 0) ?? false,
          body: content['application/json']?.schema as Schema | undefined,
        },
      ];
    }),
  );
}

/** A valid body, made of the examples of its required fields. */
export function exampleBody(document: OpenAPIObject, schema: Schema): unknown {
  const resolved = resolve(document, schema);
  if (resolved.properties !== undefined) {
    const required = Object.entries(resolved.properties).filter(([name]) =>
      resolved.required?.includes(name),
    );
    return Object.fromEntries(required.map(([name, property]) => [name, exampleBody(document, property)]));
  }
  if (resolved.example !== undefined) return resolved.example;
  if (resolved.enum !== undefined) return resolved.enum[0];
  if (resolved.items !== undefined) return [exampleBody(document, resolved.items)];
  return resolved.type === 'object' ? {} : undefined;
}

function resolve(document: OpenAPIObject, schema: Schema): Schema {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (reference === undefined) return schema;
  const name = reference.split('/').at(-1) ?? '';
  return (document.components?.schemas?.[name] ?? {}) as Schema;
}
