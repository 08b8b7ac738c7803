import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { PageInfo } from '../../kernel/pagination/page-info.dto.js';
import type { ListedObject } from '../../kernel/storage/object-storage.js';

/** Where to begin. */
export class OrphanObjectsQuery {
  /**
   * The `next_cursor` of the page before.
   * @example "eyJzY29wZSI6Im9ycGhhbi1vYmplY3RzIn0.c2lnbmF0dXJl"
   */
  @IsOptional()
  @IsString()
  cursor?: string;
}

/** A stored object that nothing refers to. */
export class OrphanObjectResponse {
  /**
   * Its key.
   * @example "runs/019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11/attachments/019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  key: string;

  /**
   * What it takes in the storage, in bytes.
   * @example 48301
   */
  size_bytes: number;

  /**
   * When it was stored.
   * @example "2026-11-21T09:31:07.500Z"
   */
  @ApiProperty({ format: 'date-time' })
  modified_at: string;
}

/** A page of stored objects that nothing refers to. */
export class OrphanObjectsResponse {
  /** In the order of their keys. */
  objects: OrphanObjectResponse[];

  /** Where the next page begins. */
  page_info: PageInfo;
}

export const toOrphanObjectsResponse = (page: {
  orphans: ListedObject[];
  nextCursor?: string;
}): OrphanObjectsResponse => ({
  objects: page.orphans.map(({ key, sizeBytes, modifiedAt }) => ({
    key,
    size_bytes: sizeBytes,
    modified_at: modifiedAt.toISOString(),
  })),
  page_info: { has_next_page: page.nextCursor !== undefined, next_cursor: page.nextCursor },
});
