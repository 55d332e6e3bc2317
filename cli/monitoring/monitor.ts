import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { addChanges } from './monitoring-changes.ts'
import { addQueries } from './monitoring-queries.ts'
import { addRuns } from './monitoring-runs.ts'

/** This file adds `millwright monitor`, which checks by schedule whether devices are reachable, and reads their values. */

export function addCommands(monitor: Command, terminal: Terminal): void {
  monitor.addHelpText(
    'after',
    `
A monitoring task checks devices that a scan has found, once or by schedule. For each device, the gateway tries the asset links that
found it. A device is reachable if it responds to one of them. The check also reads the firmware version and the properties that
you choose. It only reads from devices, within the budget of the gateway. A device is unreachable if none of its links reaches it.
If its gateway is offline, its state is unknown.

With --template, gateways sign in to devices with the credentials of a monitoring set (see millwright credentials templates).
Each run uses the rights that the owner has at that time: only assets that the owner can read and edit are checked.

Examples:
  millwright monitor create 'Line 1' --filter "startswith(name, 'Line 1')" --schedule '*/5 * * * *'
  millwright monitor run 'Line 1'
  millwright monitor results 'Line 1' --state unreachable
  millwright monitor availability 'Drive 12' --days 7
  millwright monitor pause 'Line 1'`,
  )
  addQueries(monitor, terminal)
  addChanges(monitor, terminal)
  addRuns(monitor, terminal)
}
