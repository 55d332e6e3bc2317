import { readFile } from 'node:fs/promises'
import { fromJsonString } from '@bufbuild/protobuf'
import { type DiscoverRequest, DiscoverRequestSchema } from '@millwright/api/proto/generated/discover_pb.js'
import { UsageError } from '../settings.ts'

/**
 * Reads credentials as JSON from a file, which the argument names as `@file`. Credentials in the argument itself are
 * rejected, because other users of the machine can see arguments.
 */
export async function readCredentials(argument: string): Promise<string> {
  if (!argument.startsWith('@'))
    throw new UsageError(
      'Other users of the machine can see arguments. Put the credentials into a file and pass @file.',
    )
  try {
    return JSON.stringify(JSON.parse(await readFile(argument.slice(1), 'utf8')))
  } catch {
    throw new UsageError('The credentials are not valid JSON, or the file does not exist.')
  }
}

/**
 * Parses a DiscoverRequest in the JSON format of protobuf. The argument contains the JSON, or names a file with it as
 * `@file`.
 */
export async function readRequest(argument: string): Promise<DiscoverRequest> {
  try {
    const json = argument.startsWith('@') ? await readFile(argument.slice(1), 'utf8') : argument
    return fromJsonString(DiscoverRequestSchema, json)
  } catch (error) {
    throw new UsageError(`The request is not a DiscoverRequest: ${error instanceof Error ? error.message : error}`)
  }
}
