import { Type } from 'typebox'
import type { ErrorFormat } from './contract.ts'
import { closed } from './envelope.ts'
import type { ProblemCode, ProblemDocument } from './problem.ts'

/**
 * The error format of wfx, the workflow engine that existing agents use. In addition to the less specific
 * code of wfx, it contains the problem code.
 */
const EngineError = closed({
  code: Type.String({ description: 'The code of wfx, for example `wfx.jobNotFound`' }),
  logref: Type.String({ description: 'The request id in the logs' }),
  message: Type.String(),
  problem: Type.Optional(Type.String({ description: 'The problem code' })),
})

type EngineCode = { code: string; status: number }

/**
 * The problems for which wfx has a specific code. wfx returns 400 for some of these problems, although HTTP
 * has a more specific status.
 */
const specificCodes: Partial<Record<ProblemCode, EngineCode>> = {
  already_exists: { code: 'wfx.workflowNotUnique', status: 400 },
  invalid_workflow: { code: 'wfx.workflowInvalid', status: 400 },
  invalid_reference: { code: 'wfx.workflowNotFound', status: 400 },
  invalid_filter: { code: 'wfx.invalidResponseFilter', status: 400 },
  invalid_transition: { code: 'wfx.invalidRequest', status: 400 },
}

export const engineErrorFormat: ErrorFormat = {
  schema: closed({ errors: Type.Array(EngineError) }),
  fromProblem(problem) {
    const { code, status } = engineCodeOf(problem)
    const error = { code, logref: problem.traceId ?? '', message: problem.detail, problem: problem.code }
    return { status, body: { errors: [error] } }
  },
  toProblem(body) {
    const [error] = (body as { errors?: { problem?: string; message?: string }[] } | undefined)?.errors ?? []
    return error?.problem === undefined ? undefined : { code: error.problem, detail: error.message }
  },
}

function engineCodeOf({ code, status, instance = '' }: ProblemDocument): EngineCode {
  if (code === 'not_found') return { code: `wfx.${/\/jobs\//.test(instance) ? 'job' : 'workflow'}NotFound`, status }
  return specificCodes[code] ?? { code: status === 400 ? 'wfx.invalidRequest' : `wfx.${code}`, status }
}
