import { readFile } from 'node:fs/promises'
import { fromJsonString } from '@bufbuild/protobuf'
import { type DiscoverRequest, DiscoverRequestSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { UsageError } from '../settings.ts'

/** Credentials as JSON, in the file after an @ and nowhere else: what is typed is seen by others on the machine. */
export async function readCredentials(given: string): Promise<string> {
  if (!given.startsWith('@'))
    throw new UsageError('Everybody on the machine sees arguments: put the credentials into a file and say @file.')
  try {
    return JSON.stringify(JSON.parse(await readFile(given.slice(1), 'utf8')))
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
