import { type BuiltInWorkflowName, builtInWorkflowNames } from '@millwright/api/built-in-workflows.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { completed } from './workflow.ts'

/**
 * The workflows that every tenant has. They are defined in this file and not in a table. Stored jobs refer to them by name.
 * The states and transitions of a released workflow therefore never change. A changed workflow gets a new name.
 */

type Arrow = `${string} > ${string}`

const groups = [
  { name: 'OPEN', description: 'Waiting for the gateway', states: ['CREATED'] },
  { name: 'ACTIVE', description: 'In progress on the gateway', states: ['RUNNING', 'CANCELING'] },
  { name: 'DONE', description: 'Over', states: ['FINISHED', 'FAILED', 'CANCELED'] },
]

/** Returns a workflow for a request to a gateway. The request can be canceled. */
function gatewayRequest(name: BuiltInWorkflowName, description: string): Workflow {
  return {
    name,
    description,
    states: [
      { name: 'CREATED', description: 'Not started' },
      { name: 'RUNNING', description: 'In progress on the gateway' },
      { name: 'CANCELING', description: 'Cancellation requested' },
      { name: 'FINISHED', description: 'Done' },
      { name: 'FAILED', description: 'The job failed' },
      { name: 'CANCELED', description: 'The job was canceled' },
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
  description: 'A connection to a device, which its gateway opens from inside the network',
  states: [
    { name: 'OPEN', description: 'Connection requested' },
    { name: 'OPENING', description: 'The gateway connects' },
    { name: 'OPENED', description: 'The connection is open' },
    { name: 'CLOSED', description: 'The connection is closed' },
    { name: 'FAILED', description: 'The connection failed' },
    { name: 'CANCELED', description: 'Canceled before the gateway started' },
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
  description: 'New firmware for a device: first transferred, then activated',
  states: [
    { name: 'CREATED', description: 'Not started' },
    { name: 'PREPARING', description: 'The artefact is transferred to the device' },
    { name: 'PREPARED', description: 'The device has the artefact and waits for activation' },
    { name: 'ACTIVATE', description: 'Activation requested' },
    { name: 'ACTIVATING', description: 'The device activates the artefact' },
    { name: 'ACTIVATED', description: 'The artefact is active' },
    { name: 'FAILED', description: 'The update failed' },
    { name: 'CANCELED', description: 'Canceled before activation' },
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
  'device-info': gatewayRequest('device-info', 'Queries to a device through its gateway'),
  discovery: gatewayRequest('discovery', 'A search for devices with one link of a gateway'),
  'link-inventory': gatewayRequest('link-inventory', 'A change of the built-in links that a gateway runs'),
  'remote-access': remoteAccess,
}

/**
 * The workflows whose jobs only the platform creates, each with the operation that creates them for a user. The
 * definition of such a job selects the link and the device for which a gateway gets credentials, or the links that a
 * gateway runs. Each of the operations checks the permissions of the user and writes a definition that matches them.
 */
const platformJobs: ReadonlyMap<string, string> = new Map<BuiltInWorkflowName, string>([
  ['device-info', 'POST /discovery/v1/assets/{id}/properties'],
  ['discovery', 'POST /discovery/v1/gateways/{gatewayId}/discoveries'],
  ['link-inventory', 'PUT /discovery/v1/gateways/{gatewayId}/links/{name}'],
])

/** Requires that the caller may create jobs of a workflow and write their definitions. */
export function requireDefinitionWriter(workflow: string, { principal }: Pick<Caller, 'principal'>): void {
  const operation = platformJobs.get(workflow)
  if (operation === undefined || principal.kind === 'system') return
  throw new Problem(
    'forbidden',
    `Only the platform creates ${workflow} jobs and writes their definitions. Use ${operation}.`,
  )
}

/** All built-in workflows, sorted by name. */
export const builtInWorkflows: ReadonlyMap<string, Workflow> = new Map(
  builtInWorkflowNames.map((name) => [name, completed(all[name])]),
)
