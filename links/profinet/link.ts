import { defineLink, type LinkDefinition } from '@millwright/link-sdk/define-link.ts'
import { segments } from '@millwright/link-sdk/network/local-network.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'
import { discover, type Surroundings } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties, supportedProperties } from './properties.ts'
import { linuxEthernet } from './raw-ethernet.ts'

/** Returns the link with an access to Ethernet. */
export function profinetLink(surroundings: Surroundings): LinkDefinition {
  return defineLink({
    manifest,
    discover: (call) => discover(call, surroundings),
    properties: (call) => properties(call, surroundings),
    supportedProperties,
    notices: async () => {
      const problem = await surroundings.ethernet.problem()
      return problem === undefined ? [] : [problem]
    },
  })
}

export const link = profinetLink({ ethernet: linuxEthernet, segments, neighbours: arpTable })
