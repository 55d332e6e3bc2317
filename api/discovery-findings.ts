import { Type } from 'typebox'
import { closed, Timestamp, Uuid } from './envelope.ts'

/** The result of the comparison of a run of a discovery with the earlier runs. */
export const comparisonFields = {
  gone: Type.Integer({
    minimum: 0,
    description:
      'The number of devices that an earlier finished run with the same filters found, and that this run did not find. A device does not count if its asset is deleted, or if another discovery has found it later',
  }),
  newlyGone: Type.Integer({
    minimum: 0,
    description: 'The number of devices that are gone and that the run `comparedRun` found',
  }),
  comparedRun: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The number of the earlier run with which the run was compared to find devices that are gone: the last finished run with the same filters. If it is absent, the run was not compared, because it has not finished or there is no such run',
    }),
  ),
}

/** What a run found about an asset. */
export const Finding = closed({
  assetId: Uuid,
  name: Type.Optional(Type.String()),
  outcome: Type.Union([Type.Literal('new'), Type.Literal('changed'), Type.Literal('unchanged'), Type.Literal('gone')]),
  lastRun: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The number of the run that last found a device that is gone' }),
  ),
  lastFoundTimestamp: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'The time at which the run `lastRun` ended' }),
  ),
})
