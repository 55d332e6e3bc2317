import { IxButton } from '@siemens/ix-react'
import { useText } from '../../app/language/language-context.tsx'
import { Waiting } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { type GraphData, keyOf, labelOf } from '../../components/graph/graph-data.ts'
import type { Impact, Path } from './findings.ts'
import { topologyMessages } from './messages.ts'

/** The way between two things, step by step. */
export function PathNotice({ path, onDone }: { path: Path; onDone: () => void }) {
  const text = useText(topologyMessages)
  const { graph, error, isWaiting, isTruncated } = path
  return (
    <div className="graph-notice" role="status">
      {error !== null && <ProblemMessage failure={error} />}
      {isWaiting && error === null && <Waiting />}
      {graph !== undefined && <Steps graph={graph} />}
      {!isWaiting && error === null && graph === undefined && <p>{isTruncated ? text.pathGivenUp : text.noPath}</p>}
      <Done onDone={onDone} />
    </div>
  )
}

function Steps({ graph }: { graph: GraphData }) {
  const text = useText(topologyMessages)
  const things = [...graph.nodes.values()].toSorted((one, other) => one.depth - other.depth)
  const edges = [...graph.edges.values()]
  return (
    <>
      <p>
        <strong>{text.pathBetween(labelOf(things[0]), labelOf(things.at(-1)))}</strong>: {text.pathSteps(edges.length)}
      </p>
      <ol className="path-steps">
        {things.map((thing, index) => {
          const next = edges.find(({ subject, object }) => {
            const ends = [keyOf(subject), keyOf(object)]
            const after = things[index + 1]
            return after !== undefined && ends.includes(keyOf(thing)) && ends.includes(keyOf(after))
          })
          const isForward = next !== undefined && keyOf(next.subject) === keyOf(thing)
          return (
            <li key={keyOf(thing)}>
              {labelOf(thing)}
              {next !== undefined && (
                <span className="path-edge">
                  {isForward ? '↓' : '↑'} <code>{next.predicate}</code>
                </span>
              )}
            </li>
          )
        })}
      </ol>
    </>
  )
}

type ImpactGiven = { impact: Impact; data: GraphData; onSelect: (key: string) => void; onDone: () => void }

const mostNamed = 50

/** What hangs on a thing, however many relations away. */
export function ImpactNotice({ impact, data, onSelect, onDone }: ImpactGiven) {
  const text = useText(topologyMessages)
  const { graph, of, error, isWaiting, isTruncated } = impact
  const hanging = [...(graph?.nodes.values() ?? [])].filter((thing) => keyOf(thing) !== of)
  return (
    <div className="graph-notice" role="status">
      {error !== null && <ProblemMessage failure={error} />}
      {isWaiting && error === null && <Waiting />}
      {graph !== undefined && (
        <>
          <p>
            <strong>{text.impactOf(labelOf(data.nodes.get(of)), hanging.length)}</strong>
          </p>
          {isTruncated && <p>{text.atLeast}</p>}
          <ul className="plain-list impact-list">
            {hanging.slice(0, mostNamed).map((thing) => (
              <li key={keyOf(thing)}>
                <button type="button" className="link-button" onClick={() => onSelect(keyOf(thing))}>
                  {labelOf(thing)}
                </button>
              </li>
            ))}
          </ul>
          {hanging.length > mostNamed && <p className="quiet">+ {hanging.length - mostNamed}</p>}
        </>
      )}
      <Done onDone={onDone} />
    </div>
  )
}

function Done({ onDone }: { onDone: () => void }) {
  const text = useText(topologyMessages)
  return (
    <div>
      <IxButton variant="secondary" onClick={onDone}>
        {text.done}
      </IxButton>
    </div>
  )
}
