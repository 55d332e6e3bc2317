import { inventory } from '@millwright/api/inventory.ts'
import type { RelationStatement } from '@millwright/api/inventory-relations.ts'
import { problemCodes } from '@millwright/api/problem.ts'
import type { Command } from 'commander'
import { batches } from '../input/batches.ts'
import { objectsIn } from '../input/json-input.ts'
import { assetId, isId } from '../input/lookup.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { Tally } from './batch-results.ts'
import { columnsWith, type Entity, learnSome, type Names } from './relation-table.ts'
import type { Result } from './write-status.ts'

type Options = { bothWays?: boolean; file?: string }

export function addStating(relations: Command, terminal: Terminal): void {
  online(
    relations
      .command('add')
      .description('create a relation, or all relations of a file')
      .argument('[subject]', 'id or name of an asset, or node:<id>')
      .argument('[predicate]', 'is_module_of, is_connected_to …')
      .argument('[object]', 'id or name of an asset, or node:<id>')
      .option('--both-ways', 'in both directions')
      .option('--file <path>', 'instead: one relation in each line (NDJSON), or a list as JSON; - is standard input'),
    terminal,
    add,
  ).addHelpText(
    'after',
    `
Examples:
  millwright relations add 'Module 3' is_module_of 'Rack 1'
  millwright relations add --file wiring.ndjson

A line of a file has names, ids, or what relations list --ndjson prints:
  {"subject":"Module 3","predicate":"is_module_of","object":"Rack 1"}
  {"subject":"Switch 1","predicate":"is_connected_to","object":"Drive 12","isBidirectional":true}`,
  )
}

type Named = [subject: string | undefined, predicate: string | undefined, object: string | undefined, options: Options]

function add(session: Session, ...[subject, predicate, object, options]: Named): Promise<void> {
  if (options.file !== undefined) {
    if (subject !== undefined) throw usageError('Give two things and how they are related, or --file, not both.')
    return addMany(session, options.file, options)
  }
  if (subject === undefined || predicate === undefined || object === undefined)
    throw usageError('Say what is related to what, and how.', 'give subject, predicate and object, or --file')
  return addOne(session, { subject, predicate, object, ...options })
}

type One = { subject: string; predicate: string; object: string; bothWays?: boolean }

async function addOne(session: Session, { subject, predicate, object, bothWays }: One): Promise<void> {
  const data = {
    subject: await entity(session, subject),
    predicate,
    object: await entity(session, object),
    ...(bothWays ? { isBidirectional: true } : {}),
  }
  const answer = await session.api(inventory).createRelation({ body: { data } })
  const names: Names = new Map()
  await learnSome(session, answer.data, names)
  await session.output.list(answer, { columns: columnsWith(names), nothing: '' })
}

async function entity(session: Session, given: string): Promise<Entity> {
  const node = /^node:(.+)$/.exec(given)?.[1]
  if (node === undefined) return { type: 'asset', id: await assetId(session, given) }
  if (!isId(node)) throw usageError(`A node is known by its id, but was "${node}".`)
  return { type: 'node', id: node }
}

type Line = { [field: string]: unknown }

/** A line that says nothing of use is told like one that the platform refuses; the others are stated. */
async function addMany(session: Session, file: string, { bothWays = false }: Options): Promise<void> {
  const tally = new Tally(session, 'relations')
  const found = new Map<string, Entity>()
  const always = bothWays ? { isBidirectional: true } : {}
  for await (const lines of batches(objectsIn(session.terminal, file))) {
    const results: Result[] = []
    const sendable: { place: number; relation: RelationStatement }[] = []
    for (const [place, line] of lines.entries()) {
      const read = await statementOf(session, { ...line, ...always }, found)
      if ('subject' in read) sendable.push({ place, relation: read })
      else results[place] = read
    }
    if (sendable.length > 0) {
      const data = { relations: sendable.map(({ relation }) => relation) }
      const answer = await session.api(inventory).createRelations({ body: { data } })
      for (const [index, { place }] of sendable.entries()) results[place] = answer.data.results[index] ?? {}
    }
    await tally.add(results)
  }
  await tally.finish()
}

/** What is known of a relation only after it was stated is left out: what was listed here can be stated elsewhere. */
async function statementOf(
  session: Session,
  { id: _id, createdTimestamp: _created, lastModifiedTimestamp: _modified, ...line }: Line,
  found: Map<string, Entity>,
): Promise<RelationStatement | Result> {
  const end = async (given: unknown) => {
    if (typeof given !== 'string') return given
    const known = found.get(given) ?? (await entity(session, given))
    found.set(given, known)
    return known
  }
  try {
    return { ...line, subject: await end(line.subject), object: await end(line.object) } as RelationStatement
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    const code = error.exitCode === exitCodes.notFound ? 'not_found' : 'invalid_body'
    return { code, status: problemCodes[code].status, detail: error.message }
  }
}
