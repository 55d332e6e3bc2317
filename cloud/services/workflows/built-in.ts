import { type BuiltInWorkflowName, builtInWorkflowNames } from '@millwright/api/built-in-workflows.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'
import { completed } from './workflow.ts'

/**
 * The workflows that every tenant has. They live here and not in a table. Jobs refer to them by name for as long as they
 * are kept, so one that has been released never changes: a new one gets a new name.
 */

type Arrow = `${string} > ${string}`

const groups = [
  { name: 'OPEN', description: 'Waits for its gateway', states: ['CREATED'] },
  { name: 'ACTIVE', description: 'The gateway works on it', states: ['RUNNING', 'CANCELING'] },
  { name: 'DONE', description: 'Over', states: ['FINISHED', 'FAILED', 'CANCELED'] },
]

/** Something a gateway is asked to do, and may be asked to leave. */
function errand(name: BuiltInWorkflowName, description: string): Workflow {
  return {
    name,
    description,
    states: [
      { name: 'CREATED', description: 'Nobody works on it yet' },
      { name: 'RUNNING', description: 'The gateway works on it' },
      { name: 'CANCELING', description: 'The gateway is asked to stop' },
      { name: 'FINISHED', description: 'Done' },
      { name: 'FAILED', description: 'It could not be done' },
      { name: 'CANCELED', description: 'It was called off' },
    ],
    groups,
    transitions: [
      ...arrows('CLIENT', 'CREATED > RUNNING', 'RUNNING > FINISHED', 'RUNNING > FAILED'),
      ...arrows('WFX', 'CREATED > CANCELED', 'RUNNING > CANCELING'),
      ...arrows('CLIENT', 'CANCELING > CANCELED', 'CANCELING > FINISHED', 'CANCELING > FAILED'),
      ...arrows('WFX', 'CANCELING > CANCELED'),
    ],
  }
}

function arrows(eligible: Transition['eligible'], ...lines: Arrow[]): Transition[] {
  return lines.map((line) => {
    const [from = '', to = ''] = line.split(' > ')
    return { from, to, eligible }
  })
}

const remoteAccess: Workflow = {
  name: 'remote-access',
  description: 'A connection to a device, opened by its gateway from inside',
  states: [
    { name: 'OPEN', description: 'Somebody asked for a connection' },
    { name: 'OPENING', description: 'The gateway connects' },
    { name: 'OPENED', description: 'The connection can be used' },
    { name: 'CLOSED', description: 'The connection is over' },
    { name: 'FAILED', description: 'The connection did not come about' },
    { name: 'CANCELED', description: 'It was called off before the gateway began' },
  ],
  groups: [
    { name: 'WAITING', states: ['OPEN'] },
    { name: 'ACTIVE', states: ['OPENING', 'OPENED'] },
    { name: 'DONE', states: ['CLOSED', 'FAILED', 'CANCELED'] },
  ],
  transitions: [
    ...arrows('CLIENT', 'OPEN > OPENING', 'OPENING > OPENED', 'OPENED > CLOSED', 'OPENING > FAILED'),
    ...arrows('WFX', 'OPENED > CLOSED', 'OPEN > CANCELED'),
  ],
}

const artefactUpdate: Workflow = {
  name: 'artefact-update',
  description: 'New firmware for a device: brought to it, then switched on',
  states: [
    { name: 'CREATED', description: 'Nobody works on it yet' },
    { name: 'PREPARING', description: 'The artefact is brought to the device' },
    { name: 'PREPARED', description: 'The device has it, and waits for the word' },
    { name: 'ACTIVATE', description: 'The word was given' },
    { name: 'ACTIVATING', description: 'The device switches over' },
    { name: 'ACTIVATED', description: 'The device runs it' },
    { name: 'FAILED', description: 'It could not be done' },
    { name: 'CANCELED', description: 'It was called off before the device switched over' },
  ],
  groups: [
    { name: 'OPEN', states: ['CREATED', 'PREPARED', 'ACTIVATE'] },
    { name: 'ACTIVE', states: ['PREPARING', 'ACTIVATING'] },
    { name: 'DONE', states: ['ACTIVATED', 'FAILED', 'CANCELED'] },
  ],
  transitions: [
    ...arrows('CLIENT', 'CREATED > PREPARING', 'PREPARING > PREPARED', 'PREPARING > FAILED', 'PREPARING > CANCELED'),
    ...arrows('WFX', 'CREATED > CANCELED', 'PREPARED > ACTIVATE', 'PREPARED > CANCELED'),
    ...arrows('CLIENT', 'ACTIVATE > ACTIVATING', 'ACTIVATE > FAILED', 'ACTIVATING > ACTIVATED', 'ACTIVATING > FAILED'),
  ],
}

const all: Readonly<Record<BuiltInWorkflowName, Workflow>> = {
  'artefact-update': artefactUpdate,
  'device-info': errand('device-info', 'Questions to a device, asked by its gateway'),
  discovery: errand('discovery', 'A search for devices with one link of a gateway'),
  'link-inventory': errand('link-inventory', 'Which links a gateway has, asked for out of turn'),
  'remote-access': remoteAccess,
}

/**
 * The definitions of these jobs say which link and device a gateway gets credentials for. The platform writes them when it
 * creates the job, and clients cannot change them.
 */
const fixedDefinitions: ReadonlySet<string> = new Set<BuiltInWorkflowName>(['device-info', 'discovery'])

export function hasFixedDefinition(workflow: string): boolean {
  return fixedDefinitions.has(workflow)
}

/** By name, in the order of their names. */
export const builtInWorkflows: ReadonlyMap<string, Workflow> = new Map(
  builtInWorkflowNames.map((name) => [name, completed(all[name])]),
)
