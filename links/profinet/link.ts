import { defineLink, type LinkDefinition } from '@millwright/link-sdk/define-link.ts'
import { type Segment, segments } from '@millwright/link-sdk/network/local-network.ts'
import { arpTable, type Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { properties, supportedProperties } from './properties.ts'
import { type Ethernet, linuxEthernet } from './raw-ethernet.ts'

type Surroundings = { ethernet: Ethernet; segments: () => Segment[]; neighbours: Neighbours }

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
