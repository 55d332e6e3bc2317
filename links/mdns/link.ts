import { defineLink, type LinkDefinition } from '@millwright/link-sdk/define-link.ts'
import { arpTable, type Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties, supportedProperties } from './properties.ts'

/** Returns the link with a source of MAC addresses. */
export function mdnsLink(neighbours: Neighbours): LinkDefinition {
  return defineLink({
    manifest,
    discover: (call) => discover(call, neighbours),
    properties: (call) => properties(call, neighbours),
    supportedProperties,
  })
}

export const link = mdnsLink(arpTable)
