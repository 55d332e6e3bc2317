import { readFile } from 'node:fs/promises'
import { fromJsonString } from '@bufbuild/protobuf'
import { type DiscoverRequest, DiscoverRequestSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { UsageError } from '../settings.ts'

/** A DiscoverRequest in the JSON of protobuf, or the file that it is in after an @. */
export async function readRequest(given: string): Promise<DiscoverRequest> {
  try {
    const json = given.startsWith('@') ? await readFile(given.slice(1), 'utf8') : given
    return fromJsonString(DiscoverRequestSchema, json)
  } catch (error) {
    throw new UsageError(`The request is no DiscoverRequest: ${error instanceof Error ? error.message : error}`)
  }
}
