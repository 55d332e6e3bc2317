import { readFile } from 'node:fs/promises'
import { fromJsonString } from '@bufbuild/protobuf'
import { type DiscoverRequest, DiscoverRequestSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { UsageError } from '../settings.ts'

/** Credentials as JSON text, or the file that they are in after an @: what is typed is seen by others on the machine. */
export async function readCredentials(given: string): Promise<string> {
  try {
    const json = given.startsWith('@') ? await readFile(given.slice(1), 'utf8') : given
    return JSON.stringify(JSON.parse(json))
  } catch {
    throw new UsageError('The credentials are no JSON, or there is no such file.')
  }
}

/** A DiscoverRequest in the JSON of protobuf, or the file that it is in after an @. */
export async function readRequest(given: string): Promise<DiscoverRequest> {
  try {
    const json = given.startsWith('@') ? await readFile(given.slice(1), 'utf8') : given
    return fromJsonString(DiscoverRequestSchema, json)
  } catch (error) {
    throw new UsageError(`The request is no DiscoverRequest: ${error instanceof Error ? error.message : error}`)
  }
}
