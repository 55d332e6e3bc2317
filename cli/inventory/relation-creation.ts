import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { RelationBody } from '@millwright/api/inventory/relations.ts'
import { problemCodes } from '@millwright/api/problem.ts'
import type { Command } from 'commander'
import { batches } from '../input/batches.ts'
import { readObjects } from '../input/json-input.ts'
import { assetId, isId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { BatchResults } from './batch-results.ts'
import { columnsWith, type Entity, type Names, readNamesIfAllowed } from './relation-table.ts'
import type { Result } from './write-status.ts'

type Options = { bothWays?: boolean; file?: string }

export function addRelationCreation(relations: Command, terminal: Terminal): void {
  platformCommand(
    relations
      .command('add')
      .description('add a relation, or all relations of a file')
      .argument('[subject]', 'id or name of an asset, or node:<id>')
      .argument('[predicate]', 'predicate, such as is_module_of')
      .argument('[object]', 'id or name of an asset, or node:<id>')
      .option('--both-ways', 'add the relation in both directions')
      .option('--file <path>', 'file with one relation per line (NDJSON), or a JSON list; - is standard input'),
    terminal,
    add,
  ).addHelpText(
    'after',
    `
Examples:
  millwright relations add 'Module 3' is_module_of 'Rack 1'
  millwright relations add --file wiring.ndjson

A line of a file has names or ids, or is a line of relations list --ndjson:
  {"subject":"Module 3","predicate":"is_module_of","object":"Rack 1"}
  {"subject":"Switch 1","predicate":"is_connected_to","object":"Drive 12","isBidirectional":true}`,
  )
}

type AddArguments = [
  subject: string | undefined,
  predicate: string | undefined,
  object: string | undefined,
  options: Options,
]

function add(session: Session, ...[subject, predicate, object, options]: AddArguments): Promise<void> {
  if (options.file !== undefined) {
    if (subject !== undefined) throw usageError('Pass subject, predicate and object, or --file, but not both.')
    return addMany(session, options.file, options)
  }
  if (subject === undefined || predicate === undefined || object === undefined)
    throw usageError('No relation specified.', 'pass subject, predicate and object, or --file')
  return addOne(session, { subject, predicate, object, ...options })
}

type NamedRelation = { subject: string; predicate: string; object: string; bothWays?: boolean }

async function addOne(session: Session, { subject, predicate, object, bothWays }: NamedRelation): Promise<void> {
  const data = {
    subject: await entity(session, subject),
    predicate,
    object: await entity(session, object),
    ...(bothWays ? { isBidirectional: true } : {}),
  }
  const answer = await session.api(inventory).createRelation({ body: { data } })
  const names: Names = new Map()
  await readNamesIfAllowed(session, answer.data, names)
  await session.output.list(answer, { columns: columnsWith(names), nothing: '' })
}

async function entity(session: Session, text: string): Promise<Entity> {
  const node = /^node:(.+)$/.exec(text)?.[1]
  if (node === undefined) return { type: 'asset', id: await assetId(session, text) }
  if (!isId(node)) throw usageError(`A node must have the form node:<id>, but the id is "${node}".`)
  return { type: 'node', id: node }
}

type Line = { [field: string]: unknown }

/** Adds the relations of a file. An invalid line is reported like a relation that the platform rejects. */
async function addMany(session: Session, file: string, { bothWays = false }: Options): Promise<void> {
  const batchResults = new BatchResults(session, 'relations')
  const entities = new Map<string, Entity>()
  const defaults = bothWays ? { isBidirectional: true } : {}
  for await (const lines of batches(readObjects(session.terminal, file))) {
    const results: Result[] = []
    const sendable: { place: number; relation: RelationBody }[] = []
    for (const [place, line] of lines.entries()) {
      const input = await relationOf(session, { ...line, ...defaults }, entities)
      if ('subject' in input) sendable.push({ place, relation: input })
      else results[place] = input
    }
    if (sendable.length > 0) {
      const data = { relations: sendable.map(({ relation }) => relation) }
      const answer = await session.api(inventory).createRelations({ body: { data } })
      for (const [index, { place }] of sendable.entries()) results[place] = answer.data.results[index] ?? {}
    }
    await batchResults.add(results)
  }
  await batchResults.finish()
}

/**
 * Parses a line of the file. The fields that the platform assigns are removed, so that relations that were exported
 * from one platform can be added on another platform.
 */
async function relationOf(
  session: Session,
  { id: _id, createdTimestamp: _created, lastModifiedTimestamp: _modified, ...line }: Line,
  entities: Map<string, Entity>,
): Promise<RelationBody | Result> {
  const entityOf = async (value: unknown) => {
    if (typeof value !== 'string') return value
    const resolved = entities.get(value) ?? (await entity(session, value))
    entities.set(value, resolved)
    return resolved
  }
  try {
    return { ...line, subject: await entityOf(line.subject), object: await entityOf(line.object) } as RelationBody
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const code = error.exitCode === exitCodes.notFound ? 'not_found' : 'invalid_body'
    return { code, status: problemCodes[code].status, detail: error.message }
  }
}
