// The collector's API. A request cancels an earlier one with the same name.

/** ApiError is an error that the collector returned, with its message. */
export class ApiError extends Error {
  constructor(message, type, status) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

const running = new Map();

/**
 * ask returns the data of GET path, or the complete response with its warnings. It throws an ApiError, or an AbortError
 * if a newer request has the same name.
 */
export async function ask(name, path, parameters = {}, complete = false) {
  running.get(name)?.abort();
  const controller = new AbortController();
  running.set(name, controller);
  try {
    const answer = await get(path, parameters, controller.signal);
    return complete ? answer : answer.data;
  } finally {
    if (running.get(name) === controller) running.delete(name);
  }
}

async function get(path, parameters, signal) {
  const address = path.replace(/^\//, ''); // below the page's own path: a proxy may have put one before it
  const form = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value != null));
  let response;
  try {
    response = await fetch(form.size ? `${address}?${form}` : address, { signal, credentials: 'same-origin' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(
      'The collector does not respond. Check that it runs, and that this machine can reach it.',
      'unreachable',
      0,
    );
  }
  return answerOf(response);
}

async function answerOf(response) {
  const body = await response.text();
  let answer;
  try {
    answer = JSON.parse(body);
  } catch {
    throw new ApiError(
      body.trim().slice(0, 300) || `The collector returned status ${response.status} without a message.`,
      'unreadable',
      response.status,
    );
  }
  if (answer.status !== 'success')
    throw new ApiError(answer.error ?? 'The collector returned an error.', answer.errorType, response.status);
  return answer;
}

/** outdated reports whether an error needs no message: a newer request was sent. */
export const outdated = (error) => error.name === 'AbortError';
