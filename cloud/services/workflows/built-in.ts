import {
  type BuiltInWorkflowName,
  builtInWorkflowNames,
  platformWorkflowNames,
} from '@millwright/api/built-in-workflows.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Transition, Workflow } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { completed } from './workflow.ts'

/**
 * The workflows that every tenant has. They are defined in this file and not in a table. Stored jobs refer to them by name.
 * States and transitions of a released workflow can therefore be added, but never be removed or changed.
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
      { name: 'CREATED', description: 'Queued' },
      { name: 'RUNNING', description: 'In progress on the gateway' },
      { name: 'CANCELING', description: 'Cancellation requested' },
      { name: 'FINISHED', description: 'Finished' },
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
  description: 'New firmware for a device: transferred, activated, and verified',
  states: [
    { name: 'CREATED', description: 'Queued' },
    { name: 'PREPARING', description: 'The artefact is transferred to the device' },
    { name: 'PREPARED', description: 'The device has the artefact and waits for activation' },
    { name: 'ACTIVATE', description: 'Activation requested' },
    { name: 'ACTIVATING', description: 'The device activates the artefact' },
    { name: 'VERIFYING', description: 'The gateway reads the version of the device' },
    { name: 'CANCELING', description: 'Cancellation requested' },
    { name: 'ACTIVATED', description: 'The artefact is active' },
    { name: 'FAILED', description: 'The update failed' },
    { name: 'CANCELED', description: 'Canceled before activation' },
    { name: 'UNKNOWN', description: 'The result of the activation is not known' },
  ],
  groups: [
    { name: 'OPEN', states: ['CREATED', 'PREPARED', 'ACTIVATE'] },
    { name: 'ACTIVE', states: ['PREPARING', 'ACTIVATING', 'VERIFYING', 'CANCELING'] },
    { name: 'DONE', states: ['ACTIVATED', 'FAILED', 'CANCELED', 'UNKNOWN'] },
  ],
  transitions: [
    ...arrows('CLIENT', 'CREATED > PREPARING', 'PREPARING > PREPARED', 'PREPARING > FAILED', 'PREPARING > CANCELED'),
    ...arrows('WFX', 'CREATED > CANCELED', 'PREPARED > ACTIVATE', 'PREPARED > CANCELED'),
    ...arrows('CLIENT', 'ACTIVATE > ACTIVATING', 'ACTIVATE > FAILED', 'ACTIVATE > CANCELED'),
    ...arrows('CLIENT', 'ACTIVATING > VERIFYING', 'ACTIVATING > ACTIVATED', 'ACTIVATING > FAILED'),
    ...arrows('CLIENT', 'ACTIVATING > UNKNOWN'),
    ...arrows('CLIENT', 'VERIFYING > ACTIVATED', 'VERIFYING > FAILED', 'VERIFYING > UNKNOWN'),
    // An activation is never canceled. The platform ends it only if the gateway no longer exists.
    ...arrows('WFX', 'PREPARING > CANCELING', 'PREPARED > CANCELING', 'ACTIVATE > CANCELING'),
    ...arrows('WFX', 'CANCELING > CANCELED', 'ACTIVATING > UNKNOWN', 'VERIFYING > UNKNOWN'),
    ...arrows('CLIENT', 'CANCELING > CANCELED', 'CANCELING > FAILED'),
  ],
}

/** Returns a workflow for a job that the platform runs itself. Only the platform moves such a job. */
function platformJob(name: BuiltInWorkflowName, description: string, open = 'Waiting for other jobs'): Workflow {
  return {
    name,
    description,
    states: [
      { name: 'CREATED', description: 'Queued' },
      { name: 'RUNNING', description: 'In progress on the platform' },
      { name: 'FINISHED', description: 'Finished' },
      { name: 'FAILED', description: 'The job failed' },
      { name: 'CANCELED', description: 'The job was canceled' },
    ],
    groups: [
      { name: 'OPEN', description: open, states: ['CREATED'] },
      { name: 'ACTIVE', description: 'In progress on the platform', states: ['RUNNING'] },
      { name: 'DONE', description: 'Over', states: ['FINISHED', 'FAILED', 'CANCELED'] },
    ],
    transitions: [
      ...arrows('CLIENT', 'CREATED > RUNNING', 'CREATED > FINISHED', 'CREATED > FAILED', 'CREATED > CANCELED'),
      ...arrows('CLIENT', 'RUNNING > FINISHED', 'RUNNING > FAILED', 'RUNNING > CANCELED'),
    ],
  }
}

const all: Readonly<Record<BuiltInWorkflowName, Workflow>> = {
  'artefact-retrieval': gatewayRequest('artefact-retrieval', 'A backup, configuration or log file read from a device'),
  'artefact-update': artefactUpdate,
  'device-info': gatewayRequest('device-info', 'Queries to a device through its gateway'),
  discovery: gatewayRequest('discovery', 'A search for devices with one link of a gateway'),
  'file-export': platformJob('file-export', 'An export of data to a file'),
  'file-import': platformJob('file-import', 'An import of assets from a file'),
  'link-inventory': gatewayRequest('link-inventory', 'A change of the built-in links that a gateway runs'),
  monitoring: gatewayRequest('monitoring', 'A check of devices through one gateway, as part of a monitoring run'),
  'remote-access': remoteAccess,
  'update-campaign': platformJob(
    'update-campaign',
    'A campaign that installs an artefact on devices',
    'Waiting for approval',
  ),
}

/**
 * The workflows whose jobs only the platform creates, each with the operation that creates them for a user. The
 * definition of such a job selects the link and the device for which a gateway gets credentials, the links that a
 * gateway runs, a file, an artefact, or a remote session. Each of the operations checks the permissions of the user and
 * writes a definition that matches them.
 */
const platformJobs: ReadonlyMap<string, string> = new Map<BuiltInWorkflowName, string>([
  ['artefact-retrieval', 'POST /updates/v1/assets/{id}/retrievals'],
  ['artefact-update', 'POST /updates/v1/campaigns'],
  ['device-info', 'POST /discovery/v1/assets/{id}/properties'],
  ['discovery', 'POST /discovery/v1/gateways/{gatewayId}/discoveries'],
  ['file-export', 'POST /exports/v1/files'],
  ['file-import', 'POST /imports/v1/files'],
  ['link-inventory', 'PUT /discovery/v1/gateways/{gatewayId}/links/{name}'],
  ['monitoring', 'POST /monitoring/v1/monitorings'],
  ['remote-access', 'POST /remote-access/v1/sessions'],
  ['update-campaign', 'POST /updates/v1/campaigns'],
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

/**
 * The operations that end the jobs whose states only the platform and, for updates, the gateway of the device change. A user
 * who moved an update job would activate an artefact outside the maintenance windows and limits of its campaign.
 */
const endOperations: ReadonlyMap<string, string> = new Map<BuiltInWorkflowName, string>([
  ['artefact-update', 'POST /updates/v1/campaigns/{id}/cancel'],
  ['file-export', 'POST /exports/v1/files/{id}/cancel'],
  ['file-import', 'POST /imports/v1/files/{id}/cancel'],
  ['remote-access', 'DELETE /remote-access/v1/sessions/{id}'],
  ['update-campaign', 'POST /updates/v1/campaigns/{id}/cancel'],
])

/**
 * Requires that the caller may write the status of jobs of a workflow. The platform runs some jobs itself, and some only
 * with a gateway.
 */
export function requireStatusWriter(workflow: string, { principal }: Pick<Caller, 'principal'>): void {
  if (!endOperations.has(workflow) || principal.kind === 'system') return
  const isPlatformWorkflow = platformWorkflowNames.some((name) => name === workflow)
  if (principal.kind === 'gateway' && !isPlatformWorkflow) return
  throw new Problem('forbidden', `Only the platform writes the status of ${workflow} jobs`)
}

/** Requires that a job can be deleted. The platform writes the status of its own jobs until they have ended. */
export function requireDeletable({ workflow, isFinal }: { workflow: string; isFinal: boolean }): void {
  const operation = endOperations.get(workflow)
  if (isFinal || operation === undefined) return
  throw new Problem('conflict', `The job has not ended. End it first with ${operation}`)
}

/** All built-in workflows, sorted by name. */
export const builtInWorkflows: ReadonlyMap<string, Workflow> = new Map(
  builtInWorkflowNames.map((name) => [name, completed(all[name])]),
)
