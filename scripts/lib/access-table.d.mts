import type { OpenAPIObject } from '@nestjs/swagger';

export function renderAccessTable(
  document: OpenAPIObject,
  permissionsOfRole: Record<string, readonly string[]>,
  rolesOfCaller: Record<string, readonly string[]>,
): string;
