import { IxButton } from '@siemens/ix-react'
import { useText } from '../../app/language/language-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { type GraphData, keyOf, labelOf } from '../../components/graph/graph-data.ts'
import type { Path } from './graph-queries.ts'
import { topologyMessages } from './messages.ts'

/** `PathNotice` shows the steps of a path between two assets. */
export function PathNotice({ path, onDone }: { path: Path; onDone: () => void }) {
  const text = useText(topologyMessages)
  const { graph, error, isLoading, isTruncated } = path
  return (
    <div className="graph-notice" role="status">
      {error !== null && <ProblemMessage failure={error} />}
      {isLoading && error === null && <Loading />}
      {graph !== undefined && <Steps graph={graph} />}
      {!isLoading && error === null && graph === undefined && <p>{isTruncated ? text.pathTooLarge : text.noPath}</p>}
      <div>
        <IxButton variant="secondary" onClick={onDone}>
          {text.done}
        </IxButton>
      </div>
    </div>
  )
}

function Steps({ graph }: { graph: GraphData }) {
  const text = useText(topologyMessages)
  const nodes = [...graph.nodes.values()].toSorted((one, other) => one.depth - other.depth)
  const edges = [...graph.edges.values()]
  return (
    <>
      <p>
        <strong>{text.pathBetween(labelOf(nodes[0]), labelOf(nodes.at(-1)))}</strong>: {text.pathSteps(edges.length)}
      </p>
      <ol className="path-steps">
        {nodes.map((node, index) => {
          const next = edges.find(({ subject, object }) => {
            const ends = [keyOf(subject), keyOf(object)]
            const after = nodes[index + 1]
            return after !== undefined && ends.includes(keyOf(node)) && ends.includes(keyOf(after))
          })
          const isForward = next !== undefined && keyOf(next.subject) === keyOf(node)
          return (
            <li key={keyOf(node)}>
              {labelOf(node)}
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
