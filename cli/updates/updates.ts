import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { addArtefacts } from './artefacts.ts'
import { addCampaigns } from './campaigns.ts'
import { addDevices } from './devices.ts'
import { addTrust } from './trust.ts'
import { addWindows } from './windows.ts'

/** This file adds `millwright updates`, which manages artefacts and the campaigns that install them on devices. */

export function addCommands(updates: Command, terminal: Terminal): void {
  updates.addHelpText(
    'after',
    `
An artefact is a file for devices, such as firmware. A campaign installs an artefact on many devices: in waves, in
maintenance windows, and in the order of the topology (downstream devices first).

Examples:
  millwright updates trust add vendor.pem --name Vendor
  millwright updates upload firmware.bin --signature firmware.p7s --manufacturer Acme --product 'PX 100' --version 2.1
  millwright updates install firmware.bin --filter "firmware_version eq '2.0'" --wave 5 --wave 50%
  millwright updates campaigns
  millwright updates drift`,
  )
  addArtefacts(updates, terminal)
  addTrust(updates, terminal)
  addCampaigns(updates, terminal)
  addDevices(updates, terminal)
  addWindows(updates, terminal)
}
