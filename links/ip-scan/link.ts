import { defineLink } from '@millwright/link-sdk/define-link.ts'
import { discover } from './discover.ts'
import { manifest } from './manifest.ts'
import { openPing, pingAdvice } from './ping.ts'
import { properties, supportedProperties } from './properties.ts'

export const link = defineLink({
  manifest,
  discover: (call) => discover(call),
  properties: (call) => properties(call),
  supportedProperties,
  notices: async () => ((await openPing()) === undefined ? [pingAdvice] : []),
})
